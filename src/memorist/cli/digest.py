"""The command that extracts facts from raw messages: digest."""

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from memorist.cli.declaring import Option, command
from memorist.cli.options import AsJson, Everyone, User
from memorist.cli.progress import records_bar
from memorist.cli.running import EXIT_FAILED, opened
from memorist.cli.showing import clean, print_json
from memorist.errors import InvalidInputError

if TYPE_CHECKING:
    from memorist.language import Digest, DigestReport
    from memorist.memory import Memory


@command()
async def digest(
    context: click.Context,
    model: Annotated[
        str | None,
        Option(
            "--model",
            "-m",
            metavar="MODEL",
            envvar="MEMORIST_CHAT_MODEL",
            help="The chat model: openai:MODEL, ollama:MODEL or http://HOST/v1#MODEL. "
            "Its key, where it needs one, is in MEMORIST_CHAT_KEY.",
        ),
    ] = None,
    user: User = None,
    everyone: Everyone = False,
    prompts: Annotated[
        Path | None, Option(metavar="FOLDER", envvar="MEMORIST_PROMPTS", help="A folder with your own prompts.")
    ] = None,
    language: Annotated[str | None, Option(help="The language of the facts; by default the messages'.")] = None,
    again: Annotated[bool, Option(help="Also retry messages for which the model gave no usable answer.")] = False,
    batch: Annotated[int, Option(help="Maximum messages per call.", min=1)] = 20,
    concurrency: Annotated[int, Option(help="Maximum concurrent calls.", min=1)] = 4,
    timeout: Annotated[float, Option(help="Timeout of one call, in seconds.", min=0.1)] = 60.0,
    prompt_price: Annotated[float, Option(help="Price of a million prompt tokens.", min=0)] = 0.0,
    completion_price: Annotated[float, Option(help="Price of a million completion tokens.", min=0)] = 0.0,
    json: AsJson = False,
) -> None:
    """Extract facts from the messages that were not read yet, with a chat model.

    Each message, and each record that a failing model left raw, is read once, and the facts are reconciled with
    those that are stored. The next run resumes one that was interrupted. Where the model cannot be reached, nothing
    is lost, and the exit code is 1.
    """
    from memorist.language import Digest, Prices, Prompts, open_chat_model

    if model is None or not model.strip():
        raise InvalidInputError("name a chat model with --model or MEMORIST_CHAT_MODEL")
    if everyone and user is not None:
        raise InvalidInputError("give --everyone or --user, not both")
    priced = prompt_price or completion_price
    chat: Any = open_chat_model(
        model.strip(),
        api_key=os.environ.get("MEMORIST_CHAT_KEY", "").strip() or None,
        prices=Prices(prompt=prompt_price, completion=completion_price) if priced else None,
        concurrency=concurrency,
        timeout=timeout,
    )
    asking = Prompts(folder=prompts, language=language)
    digesting = partial(Digest, model=chat, prompts=asking, batch=batch, concurrency=concurrency, again=again)
    try:
        async with opened(context, user) as memory:
            report = await _digested(memory, digesting, everyone=everyone)
    finally:
        await chat.close()
    if json:
        _print_json(report)
    else:
        _print(report)
    if report.left:
        raise click.exceptions.Exit(EXIT_FAILED)


async def _digested(memory: "Memory", digesting: "Callable[[Memory], Digest]", *, everyone: bool) -> "DigestReport":
    """Digest one user's messages, or every user's."""
    from memorist.language import DigestReport

    report = DigestReport()
    with records_bar("Digesting") as progress:
        users = await memory.admin.users() if everyone else [None]
        for name in users:
            digest = digesting(memory if name is None else memory.scoped(user=name))
            if report.problem is not None and report.problem.temporary:  # an outage concerns all users
                report += DigestReport(left=await digest.pending())
            else:
                report += await digest.run(progress)
    return report


def _print_json(report: "DigestReport") -> None:
    problem = None if report.problem is None else report.problem.reason
    usage = asdict(report.usage) | {"seconds": round(report.usage.seconds, 3)}
    print_json({**asdict(report), "problem": problem, "usage": usage})


def _print(report: "DigestReport") -> None:
    outcome = ", ".join(f"{number:,} {name}" for name, number in report.decisions.items()) or "nothing new"
    click.echo(f"{report.messages:,} messages and {report.records:,} raw records read: {outcome}")
    if report.experiences:
        click.echo(f"{report.experiences:,} experiences stored")
    usage = report.usage
    cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
    about = "about " if usage.estimated else ""
    click.echo(
        f"{usage.calls:,} calls, {about}{usage.prompt_tokens:,} tokens sent and {usage.completion_tokens:,} back{cost}"
    )
    if report.raw:
        click.echo(f"{report.raw:,} stay raw; retry them with --again", err=True)
    if report.problem is not None:
        click.echo(f"problem: {clean(report.problem.reason)}", err=True)
    if report.left:
        click.echo(f"{report.left:,} not processed; the next run resumes there", err=True)

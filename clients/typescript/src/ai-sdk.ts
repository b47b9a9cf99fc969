/** Memory for the Vercel AI SDK: a middleware that recalls before a model's call, and keeps what was said. */

import type { LanguageModelMiddleware } from "ai";

import { InvalidInputError, MemoristError } from "./errors.js";
import { hex } from "./json.js";
import type { Memory } from "./memory.js";
import type { Context, ContextOptions, Draft, Scope } from "./types.js";

/** What `remembering` takes: the options of `Memory.context`, and these. */
export interface RememberingOptions extends ContextOptions {
  /** Whether what was said is stored; true by default. */
  keep?: boolean;
  /**
   * Is told what failed, where the call goes on without memory; by default a warning on the console. `() => {}` is
   * silent; one that throws ends the call.
   */
  onError?: (error: MemoristError) => void;
}

type Params = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
type Message = Params["prompt"][number];
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type StreamPart = Streamed["stream"] extends ReadableStream<infer P> ? P : never;
type Said = [role: string, text: string];

/** One call of the model: whose it is, what was said, and whose words the model has read beside the user's. */
type Turn = { memory: Memory; said: Said[]; read: string[] };

const BLOCK = /<memory-([0-9a-f]{6})>[^]*?<\/memory-\1>/g;

/**
 * Return a middleware that puts what the memory knows before the user's last message, and keeps that message and the
 * answer as messages of the session, each once.
 *
 * The memory needs a user and, to keep, a session: of its own scope, or named by a call in
 * `providerOptions: { memorist: { user, session } }`. What was recalled is not stored again. An answer that was
 * aborted, or ended in an error, is not kept.
 *
 * A call throws InvalidInputError without a user or session, ScopeError for another user than the memory's own.
 */
export function remembering(memory: Memory, options: RememberingOptions = {}): LanguageModelMiddleware {
  const { keep = true, onError = (error) => console.warn(`memorist: ${error.message}`), ...context } = options;
  const turns = new WeakMap<Params, Turn>();

  async function trying<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof MemoristError)) throw error;
      return void onError(error);
    }
  }

  async function kept({ memory, said, read }: Turn, role: "user" | "assistant", text: string): Promise<void> {
    const content = text.replace(BLOCK, "").trim();
    if (!keep || content === "") return;
    const { agent = null, session = null } = memory.scope;
    const place = new TextEncoder().encode(JSON.stringify([agent, session, said, role, content]));
    const id = `turn-${hex(new Uint8Array(await crypto.subtle.digest("SHA-256", place), 0, 16))}`;
    const draft: Draft = { content, id, kind: "message", payload: { role } };
    if (read.length > 0) draft.author = [role, ...read] as NonNullable<Draft["author"]>;
    await trying(memory.remember(draft, { if_exists: "ignore" })); // so that a call made again keeps nothing twice
  }

  return {
    specificationVersion: "v3",

    async transformParams({ params }) {
      const named = params.providerOptions?.["memorist"] as Scope | undefined;
      const scoped = named === undefined ? memory : memory.scoped(named);
      const { user, agent, session } = scoped.scope;
      if (user === undefined || (keep && session === undefined)) {
        throw new InvalidInputError("name the user and the session: memory.scoped({ user, session })");
      }
      const last = params.prompt.findLastIndex(({ role }) => role === "user");
      const asked = params.prompt[last];
      if (asked === undefined || textOf(asked) === "") return params;
      const said = saidIn(params.prompt);
      const known = [...(context.known ?? []), ...said.map(([, text]) => text)];
      const everywhere = scoped.unlabelled().scoped({ agent }); // in every session
      const told = await trying(
        everywhere.context(queryOf(said), { ...context, known }, { signal: params.abortSignal }),
      );
      await kept({ memory: scoped, said: saidIn(params.prompt.slice(0, last)), read: [] }, "user", textOf(asked));
      const content = told?.text ? [{ type: "text", text: told.text }, ...asked.content] : asked.content;
      const changed = { ...params, prompt: params.prompt.with(last, { ...asked, content } as Message) };
      turns.set(changed, { memory: scoped, said, read: authorsOf(told, params.prompt.slice(last)) });
      return changed;
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const turn = turns.get(params);
      if (turn && result.finishReason.unified !== "error") await kept(turn, "assistant", textOf(result));
      return result;
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const turn = turns.get(params);
      const texts = new Map<string, string>();
      let whole = false;
      const watching = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          if (part.type === "text-delta") texts.set(part.id, (texts.get(part.id) ?? "") + part.delta);
          if (part.type === "finish") whole = part.finishReason.unified !== "error";
          controller.enqueue(part);
        },
        async flush() {
          if (turn && whole) await kept(turn, "assistant", joined([...texts.values()]));
        },
      });
      return { stream: stream.pipeThrough(watching), ...rest };
    },
  };
}

/** Return whose words the model reads in a turn: those of what it is told, and of its tools. */
function authorsOf(told: Context | undefined, since: readonly Message[]): string[] {
  const authors = new Set(told?.items.flatMap(({ record }) => record.origin.authors));
  authors.delete("operator"); // whom no client may name
  if (since.some(({ role }) => role === "tool")) authors.add("tool");
  return [...authors];
}

/** Return what user and model said, without tools, thinking and media. */
function saidIn(prompt: readonly Message[]): Said[] {
  const talk = prompt.filter(({ role }) => role === "user" || role === "assistant");
  return talk.map((each): Said => [each.role, textOf(each)]).filter(([, text]) => text !== "");
}

function textOf({ content }: { content: string | readonly { type: string; text?: string }[] }): string {
  return typeof content === "string"
    ? content
    : joined(content.map((part) => (part.type === "text" ? part.text! : "")));
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}

/** Return the user's last message; where it is a few words, after what was said before it. */
function queryOf(said: readonly Said[]): string {
  const last = said.findLastIndex(([role]) => role === "user");
  const question = said[last]![1];
  if (question.split(/\s+/).length >= 5) return question;
  return [...said.slice(Math.max(0, last - 2), last).map(([, text]) => text.slice(-300)), question].join("\n");
}

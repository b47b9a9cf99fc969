/** The middleware inside the real AI SDK, its versions 6 and 7, with its own mock model, against a real server. */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as six from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import * as seven from "ai-7";
import { InvalidInputError, Memory, ScopeError, type MemoristError } from "memorist";
import { remembering, type RememberingOptions } from "memorist/ai-sdk";

import { server, unserved } from "./server.js";

type Result = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;
type Part = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

const memory = await Memory.connect(server.url);
const DEAD = Memory.at(await unserved(), { user: "alice", session: "s", retries: 0 });
let count = 0;
const someone = (session = "monday") => memory.scoped({ user: `chatting ${(count += 1)}`, session });

const usage: Result["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finished = (unified: Result["finishReason"]["unified"]) => ({ finishReason: { unified, raw: unified }, usage });
const said = (text: string): Result => ({ content: [{ type: "text", text }], warnings: [], ...finished("stop") });

/** A model that says these texts, one a call, whole or in parts. */
function saying(...texts: string[]): MockLanguageModelV3 {
  const streams = texts.map((text) => ({ stream: simulateReadableStream({ chunks: parts(text) }) }));
  return new MockLanguageModelV3({ doGenerate: texts.map(said), doStream: streams });
}

function parts(text: string, end: Part = { type: "finish", ...finished("stop") }): Part[] {
  const deltas = text.split(/(?<= )/).map((delta): Part => ({ type: "text-delta", id: "1", delta }));
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...deltas,
    { type: "text-end", id: "1" },
    end,
  ];
}

/** What a user's conversation holds. */
async function kept(alice: Memory): Promise<[unknown, string][]> {
  const found: [unknown, string][] = [];
  for await (const { payload, content } of alice.iterate({ kind: "message" })) found.push([payload["role"], content]);
  return found;
}

/** What the model was asked last. */
const asked = (model: MockLanguageModelV3) =>
  JSON.stringify([...model.doGenerateCalls, ...model.doStreamCalls].at(-1)?.prompt);

for (const [version, ai] of [
  ["6", six],
  ["7", seven as unknown as typeof six],
] as const) {
  const wrapped = (model: MockLanguageModelV3, alice: Memory, options?: RememberingOptions) =>
    ai.wrapLanguageModel({ model, middleware: remembering(alice, options) });

  test(`ai ${version}: recalls what was said in another session, and keeps each turn once`, async () => {
    const alice = someone();
    const model = saying("Noted: no peanuts.", "Better not.", "Better not.");
    const first = "I am allergic to peanuts, please remember that.";
    await ai.generateText({ model: wrapped(model, alice), prompt: first });
    assert.ok(!asked(model).includes("<memory-"));

    const friday = alice.scoped({ session: "friday" });
    const question = "May I eat peanuts, given what I am allergic to?";
    const ask = () => ai.generateText({ model: wrapped(model, friday, { min_confidence: 0 }), prompt: question });
    assert.equal((await ask()).text, "Better not.");
    assert.match(asked(model), /<memory-[0-9a-f]{6}>.*allergic to peanuts.*<\/memory-.*May I eat/);
    await ask(); // again, as where the answer was lost
    assert.deepEqual(await kept(alice), [
      ["user", first],
      ["assistant", "Noted: no peanuts."],
    ]);
    assert.deepEqual(await kept(friday), [
      ["user", question],
      ["assistant", "Better not."],
    ]);
    const [, answer] = (await friday.browse({ kind: "message", order: "oldest" })).records;
    assert.deepEqual(answer?.origin.authors.sort(), ["assistant", "user"]); // what it read is no less its origin
  });

  test(`ai ${version}: the same words said later in a conversation are another message`, async () => {
    const [alice, model] = [someone(), saying("One.", "Two.")];
    const messages: six.ModelMessage[] = [{ role: "user", content: "More, please." }];
    await ai.generateText({ model: wrapped(model, alice), messages, system: "Now: 10:00" });
    messages.push({ role: "assistant", content: "One." }, { role: "user", content: "More, please." });
    await ai.generateText({ model: wrapped(model, alice), messages, system: "Now: 10:01" });
    assert.deepEqual(
      (await kept(alice)).map(([, text]) => text),
      ["More, please.", "One.", "More, please.", "Two."],
    );
    assert.ok(!asked(model).includes("<memory-")); // what the prompt holds is not told again
  });

  test(`ai ${version}: a stream is kept when it is whole`, async () => {
    const [alice, model] = [someone(), saying("It rains in Bergen.")];
    const { textStream } = ai.streamText({ model: wrapped(model, alice), prompt: "How is the weather up in Bergen?" });
    let text = "";
    for await (const part of textStream) text += part;
    assert.equal(text, "It rains in Bergen.");
    assert.deepEqual(await kept(alice), [
      ["user", "How is the weather up in Bergen?"],
      ["assistant", text],
    ]);
  });

  test(`ai ${version}: of a stream that is aborted or fails, the question is kept alone`, async () => {
    const failing: Part[] = [...parts("It ", { type: "error", error: new Error("broke") })];
    const errored = parts("It ", { type: "finish", ...finished("error") });
    for (const chunks of [failing, errored, parts("It rains in Bergen.")]) {
      const alice = someone();
      const stop = new AbortController();
      const model = new MockLanguageModelV3({
        doStream: { stream: simulateReadableStream({ chunks, chunkDelayInMs: 5 }) },
      });
      const { fullStream } = ai.streamText({
        model: wrapped(model, alice),
        prompt: "Rain?",
        abortSignal: stop.signal,
        onError: () => undefined,
      });
      for await (const part of fullStream) {
        if (part.type === "text-delta" && chunks.at(-1)!.type === "finish" && chunks !== errored) stop.abort();
      }
      assert.deepEqual(await kept(alice), [["user", "Rain?"]]);
    }
    const alice = someone();
    const model = new MockLanguageModelV3({ doGenerate: () => Promise.reject(new Error("no model")) });
    await assert.rejects(ai.generateText({ model: wrapped(model, alice), prompt: "Rain?", maxRetries: 0 }), /no model/);
    assert.deepEqual(await kept(alice), [["user", "Rain?"]]);
  });

  test(`ai ${version}: the steps of a tool's use are one turn`, async () => {
    const alice = someone();
    const call = { type: "tool-call", toolCallId: "1", toolName: "weather", input: "{}" } as const;
    const looking: Result = {
      content: [{ type: "text", text: "Let me look." }, call],
      warnings: [],
      ...finished("tool-calls"),
    };
    const model = new MockLanguageModelV3({ doGenerate: [looking, said("It rains.")] });
    const weather = ai.tool({ inputSchema: ai.jsonSchema({ type: "object" }), execute: async () => "rain" });
    await ai.generateText({
      model: wrapped(model, alice),
      prompt: "How is the weather up in Bergen?",
      tools: { weather } as never,
      stopWhen: ({ steps }) => steps.length >= 3,
    });
    assert.deepEqual(
      (await kept(alice)).map(([, text]) => text),
      ["How is the weather up in Bergen?", "Let me look.", "It rains."],
    );
    const { records } = await alice.browse({ kind: "message", limit: 1 });
    assert.deepEqual(records[0]?.origin.authors.sort(), ["assistant", "tool"]); // the tool's, too
  });

  test(`ai ${version}: one model serves many users, each behind a wall`, async () => {
    const [alice, bob] = [someone(), someone()];
    const model = saying("Noted.", "I do not know.");
    const everyone = wrapped(model, memory, { min_confidence: 0 });
    const of = ({ scope }: Memory) => ({ memorist: { user: scope.user!, session: scope.session! } });
    const secret = "My locker has the number 4711.";
    await ai.generateText({ model: everyone, prompt: secret, providerOptions: of(alice) });
    await ai.generateText({ model: everyone, prompt: "Which number has my locker?", providerOptions: of(bob) });
    assert.ok(!asked(model).includes("4711"));
    assert.deepEqual(await kept(alice), [
      ["user", secret],
      ["assistant", "Noted."],
    ]);
    const unnamed = [{}, { memorist: { user: "x" } }, { memorist: { session: "x" } }];
    for (const providerOptions of unnamed) {
      await assert.rejects(
        ai.generateText({ model: everyone, prompt: "x", providerOptions, maxRetries: 0 }),
        InvalidInputError,
      );
    }
    const bound = wrapped(saying("x"), alice);
    await assert.rejects(
      ai.generateText({ model: bound, prompt: "x", providerOptions: of(bob), maxRetries: 0 }),
      ScopeError,
    );
  });

  test(`ai ${version}: where memory fails, the chat goes on, and is told`, async (context) => {
    const errors: MemoristError[] = [];
    const told = wrapped(saying("Hello."), DEAD, { onError: (error) => errors.push(error) });
    assert.equal((await ai.generateText({ model: told, prompt: "Hi" })).text, "Hello.");
    assert.deepEqual(
      errors.map(({ code }) => code),
      Array(3).fill("StoreUnavailableError"),
    ); // asked, and kept twice
    const warn = context.mock.method(console, "warn", () => undefined);
    assert.equal(await ai.streamText({ model: wrapped(saying("Hello."), DEAD), prompt: "Hi" }).text, "Hello.");
    assert.equal(warn.mock.callCount(), 3);
    await ai.generateText({ model: wrapped(saying("Hello."), DEAD, { onError: () => undefined }), prompt: "Hi" });
    assert.equal(warn.mock.callCount(), 3);
    const strict = wrapped(saying("Hello."), DEAD, {
      onError(error) {
        throw error;
      },
    });
    await assert.rejects(ai.generateText({ model: strict, prompt: "Hi", maxRetries: 0 }), /cannot be reached/);
  });

  test(`ai ${version}: nothing is stored where keeping is switched off`, async () => {
    const alice = someone().unlabelled();
    await alice.remember("Drinks only green tea");
    const model = saying("Green tea.");
    const prompt = "Which tea do I drink, green tea?";
    await ai.generateText({ model: wrapped(model, alice, { keep: false, min_confidence: 0 }), prompt });
    assert.match(asked(model), /Drinks only green tea/);
    assert.equal(await alice.count(), 1);
  });
}

/** What is sent again, when, and what never is. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { Memory, MemoristError, StoreBusyError, StoreUnavailableError } from "memorist";

import { Losing, server, serving } from "./server.js";

const losing = new Losing();
const alice = (await Memory.connect(await losing.url(server.url))).scoped({ user: "retried" });
let count = 0;

/** Lose the first answers to a call, and return how often it was sent, and what came of it. */
async function sent<T>(lost: number, call: () => Promise<T>): Promise<[number, T | MemoristError]> {
  losing.asked = [];
  losing.lost = lost;
  const outcome = await call().catch((error: MemoristError) => error);
  losing.lost = 0;
  return [losing.asked.length, outcome];
}

test("a record whose acknowledgement was lost is stored once", async () => {
  const [times, stored] = await sent(2, () => alice.remember("Drinks tea"));
  assert.ok(times === 3 && !(stored instanceof MemoristError));
  assert.equal(await alice.count({ where: {} }), 1);
  assert.equal(new Set(losing.asked.slice(0, 3).map(([, , key]) => key)).size, 1);
  const [asked] = await sent(3, () => alice.count());
  assert.equal(asked, 4);
});

test("a change whose outcome is not known is told, not repeated", async () => {
  const { id } = await alice.remember("Drinks coffee");
  const calls: (() => Promise<unknown>)[] = [
    () => alice.revise(id, { content: "Drinks milk" }),
    () => alice.remember("Drinks water", { id, if_exists: "replace" }),
    () => alice.forget(id),
    () => alice.purge({ user: "retried" }),
  ];
  for (const call of calls) {
    const [times, error] = await sent(1, call);
    assert.equal(times, 1);
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, /it is not known whether the call took effect/);
  }
});

test("a change with a key of the caller's is carried out once, however often it is sent", async () => {
  const { id } = await alice.remember("Drinks coffee");
  const key = () => `order ${(count += 1)}`;
  const [times, revised] = await sent(1, () => alice.revise(id, { content: "Drinks milk" }, { key: key() }));
  assert.deepEqual([times, (revised as { version: number }).version], [2, 2]);
  assert.deepEqual(await sent(1, () => alice.forget(id, {}, { key: key() })), [2, 1]);
  const [, purged] = await sent(1, () => alice.purge({}, { key: key() }));
  assert.ok(!(purged instanceof MemoristError));
  for (const wrong of ["", " a", "é", "a".repeat(256)]) {
    await assert.rejects(alice.rate("x", 1, {}, { key: wrong }), /an idempotency key is/);
  }
});

test("at most so many repetitions, and none where it is switched off", async () => {
  assert.equal((await sent(99, () => alice.count()))[0], 4);
  const once = Memory.at(await losing.url(server.url), { user: "retried", retries: 0 });
  assert.equal((await sent(99, () => once.count()))[0], 1);
});

/** A server's answers one after the other, as `fetch` gives them. */
function answering(...answers: [status: number, body: object, headers?: Record<string, string>][]) {
  const left = [...answers];
  const asked = mock.fn(async (..._: Parameters<typeof fetch>) => {
    const [status, body, headers] = left.shift()!;
    return new Response(JSON.stringify(body), { status, headers: headers ?? {} });
  });
  return { asked, memory: Memory.at("http://server", { user: "alice", fetch: asked }) };
}

const BUSY = { error: "StoreBusyError", detail: "busy" };
const DOWN = { error: "StoreUnavailableError", detail: "down" };

test("Retry-After is waited for, and not where it is too long", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  for (const status of [503, 429]) {
    const { asked, memory } = answering([status, BUSY, { "Retry-After": "2" }], [200, { forgotten: 1 }]);
    const forgotten = memory.forget("x"); // which was not done, and so is sent again
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    context.mock.timers.tick(1999);
    await setImmediate();
    assert.equal(asked.mock.callCount(), 1);
    context.mock.timers.tick(1);
    assert.equal(await forgotten, 1);
  }
  const { asked, memory } = answering([429, BUSY, { "Retry-After": "3600" }]);
  await assert.rejects(
    memory.count(),
    (error: StoreBusyError) => error.retryAfter === 3_600_000 && error.status === 429,
  );
  assert.equal(asked.mock.callCount(), 1);
});

test("a server without its store may have done what was asked", async () => {
  const { asked, memory } = answering([503, DOWN], [503, DOWN], [200, { count: 1 }]);
  await assert.rejects(memory.forget("x"), StoreUnavailableError);
  assert.equal(asked.mock.callCount(), 1);
  assert.equal(await memory.count(), 1);
  for (const status of [500, 502, 504, 409]) {
    const { asked, memory } = answering([status, DOWN]);
    await assert.rejects(memory.count(), MemoristError);
    assert.equal(asked.mock.callCount(), 1);
  }
});

test("who does not answer is not waited for, and a call can be given up", async () => {
  const silent = await serving(() => undefined);
  const memory = Memory.at(silent, { timeout: 20, retries: 1 });
  await assert.rejects(memory.count(), /nothing came within 20 ms/);
  const patient = Memory.at(silent);
  const reason = new Error("the user left");
  const leaving = new AbortController();
  const calls = [patient.count({}, { signal: leaving.signal }), patient.export({}, { signal: leaving.signal }).next()];
  await setImmediate();
  leaving.abort(reason);
  for (const call of calls) await assert.rejects(call, reason);
  await assert.rejects(patient.count({}, { signal: AbortSignal.abort(reason) }), reason);
  const waiting = new AbortController();
  const { memory: busy } = answering([503, BUSY, { "Retry-After": "9" }]);
  const call = busy.count({}, { signal: waiting.signal });
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  waiting.abort(reason);
  await assert.rejects(call, reason);
});

test("a redirect is not followed, so that the token goes nowhere else", async () => {
  const elsewhere: string[] = [];
  const other = await serving((request, answer) => {
    elsewhere.push(JSON.stringify(request.headers));
    answer.end("{}");
  });
  const first = await serving((request, answer) => answer.writeHead(307, { location: other + request.url }).end());
  const memory = Memory.at(first, { token: "mem_secret", user: "alice" });
  await assert.rejects(memory.remember("x"), /status 307 is not a Memorist server/);
  await assert.rejects(memory.export().next(), /status 307/);
  assert.deepEqual(elsewhere, []);
});

test("an export that breaks off is an error, not a short export", async () => {
  const broken = await serving((request, answer) => {
    answer.setHeader("content-type", "application/x-ndjson");
    answer.write('{"format": "memorist", "version": 1}\n{"id": ');
    setTimeout(() => request.socket.destroy(), 10);
  });
  const lines: string[] = [];
  await assert.rejects(async () => {
    for await (const line of Memory.at(broken).export()) lines.push(line);
  }, StoreUnavailableError);
  assert.equal(lines.length, 1);
  const stuck = await serving((_, answer) => {
    answer.writeHead(200, { "content-type": "application/x-ndjson" }).write("{}\n");
  });
  await assert.rejects(async () => {
    for await (const _ of Memory.at(stuck, { timeout: 20 }).export()) continue;
  }, /nothing came within/);
  const page = await serving((_, answer) => answer.setHeader("content-type", "text/html").end("<p>Please log in"));
  await assert.rejects(Memory.at(page).export().next(), /not a Memorist server/);
  await assert.rejects(Memory.at(page).admin.backup().next(), /not a Memorist server/);
});

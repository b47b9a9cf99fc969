/** The client against a real server: verbs, scopes, odd names, errors, streams. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { inspect } from "node:util";

import * as memorist from "memorist";
import { Memory, pages } from "memorist";

import { server, serving, unserved } from "./server.js";

const everyone = await Memory.connect(server.url);
const token = server.token("bob's", "--user", "bob", "--right", "write");
let count = 0;

/** Return the memory of a user that no other test has. */
const someone = () => everyone.scoped({ user: `user ${(count += 1)}` });

async function collected<T>(things: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of things) found.push(each);
  return found;
}

test("what is remembered is recalled, told, looked up, and gone when it is forgotten", async () => {
  const alice = someone();
  const tea = await alice.remember("Drinks green tea", { happened_at: new Date("2024-05-17T10:00:00Z") });
  assert.equal(tea.happened_at, "2024-05-17T10:00:00.000000Z");
  const [two, three] = await alice.remember(["Has a cat", { content: "Elixir", kind: "topic", key: "language" }]);
  assert.equal((await alice.recall("which tea?", { limit: 1 }))[0]?.record.id, tea.id);
  assert.match((await alice.context("green tea?", { min_confidence: 0 })).text, /Drinks green tea/);
  assert.equal((await alice.lookup("language"))?.id, three!.id);
  assert.equal(await alice.lookup("colour"), null);
  assert.equal((await alice.recent({ limit: 1, kind: "topic" }))[0]?.id, three!.id);
  const revised = await alice.revise(tea.id, { content: "Drinks white tea", happened_at: null });
  assert.deepEqual([revised.content, revised.happened_at, revised.version], ["Drinks white tea", null, 2]);
  assert.equal((await alice.rate(tea.id, 0.5)).rating, 0.5);
  assert.deepEqual(
    (await alice.history(tea.id)).map(({ action }) => action),
    ["remembered", "revised", "rated"],
  );
  assert.equal((await alice.why(tea.id)).sources[0]?.record.id, tea.id);
  assert.deepEqual(
    (await alice.find([two!.id, "none"])).map(({ id }) => id),
    [two!.id],
  );
  assert.equal(Object.keys(await alice.vectors([two!.id])).length, 1);
  assert.equal(await alice.forget(tea.id), 1);
  assert.equal(await alice.get(tea.id), null);
  assert.equal(await alice.count(), 2);
  assert.equal((await alice.purge({ dry_run: true })).purged, 2);
  assert.equal((await alice.purge()).receipt.type, "memorist receipt");
  assert.equal(await alice.count({ superseded: true }), 0);
});

test("a label alone says what is forgotten", async () => {
  const alice = someone();
  await alice.scoped({ session: "monday" }).remember(["one", "two"]);
  await alice.remember("three");
  assert.deepEqual((await alice.derived({ session: "monday" })).alone, []);
  assert.equal(await alice.forget({ session: "monday" }), 2);
  for (const nothing of [[], {}, { source: "me" }, undefined]) {
    await assert.rejects(async () => alice.forget(nothing as never), memorist.InvalidInputError);
  }
  assert.equal(await alice.count(), 1);
});

test("ids and users with odd characters are themselves", async () => {
  const ids = [
    "a/b",
    "ü",
    "..",
    ".",
    "%2F",
    "%2e%2e",
    "%",
    "?a",
    "#a",
    "a&b=c",
    "a+b",
    "a b",
    "日本",
    "\\",
    "//",
    "-x",
  ];
  const alice = someone();
  for (const id of ids) await alice.remember(`the one named ${id}`, { id });
  for (const id of ids) assert.equal((await alice.get(id))?.content, `the one named ${id}`);
  for (const id of ids.slice(4)) assert.equal((await alice.rate(id, 1)).id, id);
  await assert.rejects(async () => alice.rate("..", 1), /cannot be sent in a URL/);
  assert.equal(await alice.forget(ids), ids.length);

  const users = ["a/b", "ü", "..", "%2F", "a&b=c", "a+b", "a b", "../x", "日本", "👩\u200d👧"];
  for (const user of users) await everyone.scoped({ user }).remember(user);
  for (const user of users) {
    assert.deepEqual(
      (await everyone.scoped({ user }).browse()).records.map(({ content }) => content),
      [user],
    );
  }
  assert.equal((await everyone.scoped({ user: "u\u0308" }).browse()).records[0]?.content, "ü");
  await assert.rejects(async () => everyone.scoped({ user: "\ud800" }).count(), /lone surrogate/);
  await assert.rejects(async () => alice.get("\ud800"), memorist.InvalidInputError);
});

test("a scoped memory cannot climb out, and nobody is not everyone", async () => {
  const alice = everyone.scoped({ user: "Jos\xe9" });
  assert.equal(alice.scoped({ user: "Jose\u0301", session: "s" }).scoped({ session: "t" }).scope.session, "t");
  assert.throws(() => alice.scoped({ user: "bob" }), memorist.ScopeError);
  assert.throws(() => alice.scoped({ tenant: "other" }), memorist.ScopeError);
  for (const name of ["tenant", "user", "session"]) {
    const climbing = { [name]: "bob" } as object;
    await assert.rejects(alice.lookup("key", climbing), memorist.InvalidInputError);
    await assert.rejects(alice.export(climbing).next(), memorist.InvalidInputError);
    await assert.rejects(alice.request("GET", "/v1/records", { query: climbing }), memorist.InvalidInputError);
  }
  await assert.rejects(alice.recall("tea", { user: "bob" } as object), memorist.UnknownArgumentError);
  await assert.rejects(alice.purge({ user: "bob" }), memorist.ScopeError);
  await assert.rejects(alice.count({ session: 5 as never }), memorist.InvalidInputError);
  for (const nobody of [undefined, null as never, 5 as never]) {
    assert.throws(() => everyone.scoped({ user: nobody }), memorist.InvalidInputError);
    await assert.rejects(async () => Memory.connect(server.url, { user: nobody }), memorist.InvalidInputError);
  }
  const bob = await Memory.connect(server.url, { token });
  assert.deepEqual(bob.scope, { tenant: "default", user: "bob" });
  await assert.rejects(async () => Memory.connect(server.url, { token, user: "alice" }), memorist.ScopeError);
  await assert.rejects(Memory.at(server.url, { token, user: "alice" }).count(), memorist.ScopeError);
});

test("an error has the class that Python has, and says what to do", async () => {
  const alice = someone();
  await assert.rejects(alice.recall("tea", { colour: "green" } as object), (error: memorist.MemoristError) => {
    assert.ok(error instanceof memorist.UnknownArgumentError && error instanceof memorist.InvalidInputError);
    assert.deepEqual([error.name, error.code, error.status], ["UnknownArgumentError", "UnknownArgumentError", 422]);
    assert.match(error.message, /recall takes no argument 'colour'/);
    return true;
  });
  await assert.rejects(alice.revise("none", { content: "x" }), memorist.NotFoundError);
  await alice.remember("one", { id: "taken" });
  await assert.rejects(alice.remember("two", { id: "taken" }), memorist.ConflictError);
  assert.deepEqual((await alice.why("none")).sources, []);
  assert.deepEqual(await alice.history("none"), []);
  for (const url of ["", "ftp://x", "http://", "http://u:secret@h", "http://h/?a=1", "http://h/#a"]) {
    assert.throws(
      () => Memory.at(url),
      (error: Error) => /begins with http/.test(error.message) && !/secret/.test(error.message),
    );
  }
  for (const answered of ["{}", "[1]", "<p>Please log in", ""]) {
    const other = await serving((_, answer) => answer.end(answered));
    await assert.rejects(Memory.connect(other), /not a Memorist server/);
    await assert.rejects(Memory.at(other).count(), memorist.StoreUnavailableError);
  }
});

test("what an agent asks for waits for the user's yes", async () => {
  const alice = someone();
  await assert.rejects(alice.remember("Likes milk", { proposed: true }), memorist.WaitingError);
  await assert.rejects(alice.remember("Likes tea", { proposed: true }), memorist.WaitingError);
  const [milk, tea] = await alice.admin.inbox();
  assert.equal((await alice.admin.reject(milk!.id)).content, "Likes milk");
  await alice.admin.reject(milk!.id, { undo: true });
  assert.equal((await alice.admin.approve(tea!.id, "Likes green tea"))[0]?.content, "Likes green tea");
  assert.equal(await alice.count(), 1);
  await assert.rejects(alice.admin.approve("none"), memorist.NotFoundError);
});

test("whole numbers of any size come back as they were, and what is not JSON is refused", async () => {
  const alice = someone();
  const metadata = {
    large: 2n ** 70n,
    negative: -(2n ** 63n),
    safe: 2 ** 53 - 1,
    text: '12345678901234567890 "',
    float: 0.1234567890123456,
  };
  const stored = await alice.remember("\\12345678901234567890", { metadata });
  assert.deepEqual((await alice.get(stored.id))?.metadata, metadata);
  assert.equal(stored.content, "\\12345678901234567890");
  const loop: Record<string, unknown> = {};
  loop["loop"] = loop;
  for (const wrong of [
    Number.NaN,
    Infinity,
    new Map([[1, 2]]),
    new Set([1]),
    () => 1,
    [undefined],
    new Date("no"),
    loop,
  ]) {
    await assert.rejects(async () => alice.remember("x", { metadata: { wrong } }), memorist.InvalidInputError);
  }
  for (const wrong of [null, [], {}, "maybe"]) {
    await assert.rejects(alice.purge({ dry_run: wrong as never }), memorist.InvalidInputError);
  }
  assert.equal(await alice.count(), 1);
});

test("pages follow one another", async () => {
  const alice = someone();
  const stored = await alice.remember(Array.from({ length: 25 }, (_, number) => `number ${number}`));
  const found = await collected(alice.iterate({ page: 10 }));
  assert.deepEqual(
    found.map(({ id }) => id),
    stored.map(({ id }) => id),
  );
  const sizes = await collected(pages((cursor) => alice.browse({ limit: 10, cursor })));
  assert.deepEqual(
    sizes.map(({ records }) => records.length),
    [10, 10, 5],
  );
});

test("what is exported is loaded, in batches, and bad lines are told by their number", async () => {
  const alice = someone();
  await alice.remember(Array.from({ length: 1200 }, (_, number) => `number ${number}: é 日本\u2028`));
  const lines = await collected(alice.export());
  assert.equal(lines.length, 1201);
  lines.splice(0, 0, "");
  lines[700] = "{"; // the 701st
  lines[1100] = '{"id": 5}';
  await alice.purge();
  const report = await alice.load(lines);
  assert.deepEqual([report.added, report.existing, report.bad.map(({ number }) => number)], [1198, 0, [701, 1101]]);
  assert.deepEqual(await everyone.load(alice.export()), { added: 0, existing: 1198, bad: [] });
  await assert.rejects(someone().load(lines), memorist.ScopeError);
  await assert.rejects(alice.load([]), memorist.FormatError);
  await assert.rejects(alice.load(["no header"]), memorist.FormatError);
});

test("an operator copies, checks and embeds the store anew", async () => {
  const copy = `${server.db}.copy`;
  await everyone.remember("for all");
  await writeFile(copy, everyone.admin.backup());
  assert.equal((await readFile(copy)).subarray(0, 15).toString(), "SQLite format 3");
  assert.deepEqual(await everyone.admin.check(), []);
  const steps: number[] = [];
  const embedded = await everyone.admin.reindex({ progress: (done) => steps.push(done) });
  assert.ok(embedded > 0 && steps.length > 0);
  assert.ok((await everyone.admin.users()).some(({ user }) => user === null));
  assert.ok((await everyone.admin.audit({ limit: 3 })).length === 3);
  assert.deepEqual(await everyone.admin.retain([{ keep: "90d", kind: "message" }]), [{ keep: "90d", kind: "message" }]);
  assert.deepEqual((await everyone.admin.retention([])).rules, []);
  assert.equal(await everyone.admin.sweep(), 0);
  assert.equal((await everyone.admin.traces({ limit: 1 })).traces.length, 0);
  assert.equal((await everyone.request("GET", "/health", {})).status, "ok");
  const metrics = Buffer.concat(await collected(everyone.stream("GET", "/metrics")));
  assert.match(metrics.toString(), /^# HELP memorist/m);
  await assert.rejects(everyone.request("GET", "/v1/lookup", { query: { key: "none" } }), memorist.NotFoundError);
});

test("the token is in no URL, no error and nothing that is printed", async () => {
  const asked: string[] = [];
  const memory = Memory.at(server.url, {
    token,
    fetch: (url, options) => {
      asked.push(String(url));
      return fetch(url, options);
    },
  });
  const error = await memory.revise("none", { content: "x" }).catch((error: Error) => error);
  const dead = await Memory.at(await unserved(), { token, retries: 0 })
    .count()
    .catch((error: Error) => error);
  const shown = [
    asked,
    inspect(memory, { depth: 10, showHidden: true }),
    JSON.stringify(memory),
    inspect(error),
    inspect(dead),
  ];
  assert.equal(asked.length, 1);
  assert.ok(!shown.join().includes(token), shown.join());
  assert.throws(() => Memory.at(server.url, { token: "a\nb" }), memorist.InvalidInputError);
});

/** What the compiler must refuse, and what it must know; compiled, and never run. */

import type { Answer, Hit, Memory, MemoryRecord } from "memorist";

export async function known(
  memory: Memory,
): Promise<[MemoryRecord, MemoryRecord[], Hit[], MemoryRecord | null, string]> {
  const one = await memory.remember("tea", { kind: "fact", happened_at: new Date(), metadata: { a: 1n } });
  const many = await memory.remember(["tea", { content: "milk", author: ["user", "tool"] }]);
  const hits = await memory.recall("tea", { session: "s", where: { a: { $gte: 1 } }, since: new Date(0) });
  const status: Answer<"/health", "GET"> = await memory.request("GET", "/health", {});
  return [one, many, hits, await memory.get("x"), status.version];
}

export async function refused(memory: Memory): Promise<void> {
  // @ts-expect-error a text is needed
  await memory.recall();
  // @ts-expect-error it is called limit
  await memory.recall("tea", { top_k: 5 });
  // @ts-expect-error a number
  await memory.recall("tea", { limit: "5" });
  // @ts-expect-error there is no such kind
  await memory.remember("tea", { kind: "nots" });
  // @ts-expect-error a draft needs content
  await memory.remember({ kind: "note" });
  // @ts-expect-error of one text comes one record
  (await memory.remember("tea")).length;
  // @ts-expect-error it may not be there
  (await memory.get("x")).content;
  // @ts-expect-error ids or a filter
  await memory.forget();
  // @ts-expect-error there is no such author
  await memory.revise("x", { author: "boss" });
  // @ts-expect-error a scope has no such name
  memory.scoped({ username: "alice" });
  // @ts-expect-error the path needs an id
  await memory.request("GET", "/v1/records/{id}", {});
  // @ts-expect-error the path does not take this method
  await memory.request("DELETE", "/v1/recall", {});
  // @ts-expect-error there is no such path
  await memory.request("POST", "/v1/recal", { body: { query: "tea" } });
  // @ts-expect-error the body needs a query
  await memory.request("POST", "/v1/recall", { body: {} });
  // @ts-expect-error a rule needs how long
  await memory.admin.retain([{ kind: "note" }]);
}

/** Memory: the verbs, each one request to a server. */

import { Admin } from "./admin.js";
import { Connection, field, pathOf, type CallOptions, type ConnectionOptions, type Outgoing } from "./connection.js";
import { InvalidInputError, NotFoundError, ScopeError } from "./errors.js";
import { stringify, unique } from "./json.js";
import { batchesOf, linesOf } from "./lines.js";
import type * as t from "./types.js";

const DEFAULT_TENANT = "default";
const NAMES = ["tenant", "user", "agent", "session", "zone"] as const;
/** What is not sent again without an idempotency key: done twice, it is answered differently. */
const ONCE = new Set([
  "POST /v1/records",
  "PATCH /v1/records/{id}",
  "DELETE /v1/records/{id}",
  "POST /v1/forget",
  "POST /v1/relabel",
  "POST /v1/archive",
  "POST /v1/inbox/{id}/approve",
  "POST /v1/inbox/{id}/reject",
  "POST /v1/purge",
]);

/** What a request takes, whichever it is. */
type Sent = CallOptions & t.Labels & Pick<Outgoing, "content" | "type"> & { id?: string; query?: object };

/**
 * A memory at a server (`memorist serve`), in one scope. The verbs have the names of Python's, in camelCase; the fields
 * of what they take and return have the names of the REST interface.
 *
 * Every verb takes `CallOptions` last, and raises a `MemoristError`.
 */
export class Memory {
  /** What this memory sees and where it writes. */
  readonly scope: t.Scope;
  /** What an operator does with a whole memory. */
  readonly admin: Admin;
  readonly #connection: Connection;

  /** `Memory.connect` and `Memory.at` make one. */
  constructor(connection: Connection, scope: t.Scope = {}) {
    this.#connection = connection;
    this.scope = scope;
    this.admin = new Admin(this);
  }

  /**
   * Connect to a server, and return its memory, bound to the token's tenant and user.
   *
   * @throws StoreUnavailableError there is no server there.
   * @throws ScopeError the token is not valid, or is of another tenant or user.
   */
  static async connect(url: string, options: ConnectionOptions & t.Scope = {}): Promise<Memory> {
    const memory = new Memory(new Connection(url, options));
    const { tenant, user } = await memory.caller();
    const bound = new Memory(memory.#connection, { tenant: tenant ?? undefined, user: user ?? undefined });
    return bound.scoped(scopeIn(options));
  }

  /** Return a server's memory without asking the server: what the token does not allow is told by the first call. */
  static at(url: string, options: ConnectionOptions & t.Scope = {}): Memory {
    return new Memory(new Connection(url, options)).scoped(scopeIn(options));
  }

  /**
   * Return the same memory seen from a narrower scope. Costs nothing.
   *
   * @throws ScopeError another user or tenant than the one already set: a scoped memory cannot climb out.
   * @throws InvalidInputError a name is not a text; a wall that is undefined, too: who is not logged in is not everyone.
   */
  scoped(names: t.Scope): Memory {
    const scope: t.Scope = { ...this.scope, ...given(names) };
    for (const name of NAMES) {
      const wall = name === "tenant" || name === "user";
      const left = !(name in names) || (names[name] === undefined && !wall);
      if (!left && typeof names[name] !== "string") {
        throw new InvalidInputError(`${name} must be a string, not ${names[name]}; leave it out to name none`);
      }
    }
    const { user } = this.scope;
    const tenant = this.scope.tenant ?? DEFAULT_TENANT;
    if (user !== undefined && composed(scope.user) !== composed(user)) {
      throw new ScopeError(`the memory of user '${user}' cannot be rescoped to '${scope.user}'`);
    }
    if (composed(scope.tenant) !== composed(tenant) && (user !== undefined || tenant !== DEFAULT_TENANT)) {
      throw new ScopeError(`the memory of tenant '${tenant}' cannot be rescoped to '${scope.tenant}'`);
    }
    return new Memory(this.#connection, scope);
  }

  /** Return the same memory without the labels `agent` and `session`; the walls stay. */
  unlabelled(): Memory {
    const { tenant, user, zone } = this.scope;
    return new Memory(this.#connection, { tenant, user, zone });
  }

  /**
   * Return the answer to one request of the REST interface, in this scope. The verbs are calls of this.
   *
   * A request is sent again where it was not carried out, or where it can be repeated.
   */
  async request<P extends t.Path, M extends t.Method<P> & string>(
    method: M,
    path: P,
    options: t.Given<P, M> & CallOptions,
  ): Promise<t.Answer<P, M>> {
    const { body, ...more } = options as Sent & { body?: unknown };
    const content = body === undefined ? undefined : stringify(body);
    return (await this.#connection.call(this.#outgoing(method, path, { ...more, content }))) as t.Answer<P, M>;
  }

  /** Yield the parts of an answer that is not one JSON object, such as `/v1/export` and `/v1/backup`, as they come. */
  async *stream<P extends t.Path, M extends t.Method<P> & string>(
    method: M,
    path: P,
    options: Pick<t.Given<P, M>, "query"> & CallOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    yield* this.#connection.stream(this.#outgoing(method, path, options as Sent));
  }

  #outgoing(method: string, path: string, { id, query = {}, agent, session, key, ...sent }: Sent): Outgoing {
    const named = NAMES.find((name) => name in query);
    if (named !== undefined) {
      throw new InvalidInputError(`this takes no argument ${named}; memory.scoped({ ${named} }) says whose`);
    }
    return {
      ...sent,
      method,
      path: pathOf(path, id),
      query: { ...this.scoped({ agent, session }).scope, ...query },
      repeat: key !== undefined || !ONCE.has(`${method} ${path}`),
      key,
    };
  }

  // --- writing -------------------------------------------------------------------------------------------

  /**
   * Store one record, or many at once: all of them or none. On disk when it returns.
   *
   * A request whose answer was lost is sent again under an idempotency key, and never stores twice; but for
   * `if_exists: "replace"`, which is sent again only under a key of your own.
   *
   * @param content a text, a draft with its fields, or several of these.
   * @param options the fields of texts given as such; `if_exists` and the like, for all.
   */
  remember(content: string | t.Draft, options?: t.RememberOptions, call?: CallOptions): Promise<t.MemoryRecord>;
  remember(
    content: readonly (string | t.Draft)[],
    options?: t.RememberOptions,
    call?: CallOptions,
  ): Promise<t.MemoryRecord[]>;
  async remember(
    content: string | t.Draft | readonly (string | t.Draft)[],
    options: t.RememberOptions = {},
    call: CallOptions = {},
  ): Promise<t.MemoryRecord | t.MemoryRecord[]> {
    const several = Array.isArray(content);
    const { if_exists, forgetting, embed, proposed, ...fields } = options;
    const all: Record<keyof t.RememberAll, unknown> = { if_exists, forgetting, embed, proposed };
    const named = Object.keys(given(fields)).length > 0;
    const records = (several ? content : [content]).map((each: string | t.Draft) => {
      if (typeof each === "object" && each !== null && !named) return each;
      return { content: each as string, ...fields };
    });
    const body = { records, ...given(all) } as { records: t.Draft[] };
    if (records.length === 0 && forgetting === undefined) return [];
    const key = call.key ?? (if_exists === "replace" || records.length === 0 ? undefined : unique());
    const stored = await this.request("POST", "/v1/records", { ...call, key, body });
    return several ? field(stored, "records") : field(stored, "records")[0]!;
  }

  /** Change the fields given; null clears one. The record as it was stays in its history. */
  revise(id: string, changes: t.Revision, call?: CallOptions): Promise<t.MemoryRecord> {
    return this.request("PATCH", "/v1/records/{id}", { ...call, id, body: changes });
  }

  /** Give a record feedback from -1 (bad) to 1 (good), or take it back (null). */
  rate(id: string, rating: number | null, options?: t.RateOptions, call?: CallOptions): Promise<t.MemoryRecord> {
    return this.request("PUT", "/v1/records/{id}/rating", { ...call, id, body: { ...options, rating } });
  }

  /**
   * Delete the records with these ids, or all that pass a filter, superseded ones included; return how many are gone.
   *
   * @throws InvalidInputError neither an id nor a filter is given; `purge` deletes a whole user.
   */
  forget(ids: string | readonly string[], options?: t.ForgetOptions, call?: CallOptions): Promise<number>;
  forget(filter: t.ForgetOptions, options?: undefined, call?: CallOptions): Promise<number>;
  async forget(
    which: string | readonly string[] | t.ForgetOptions,
    options?: t.ForgetOptions,
    call?: CallOptions,
  ): Promise<number> {
    return field(await this.request("POST", "/v1/forget", { ...call, ...chosen(which, options) }), "forgotten");
  }

  /**
   * Give the records with these ids, or all that pass a filter, another label `agent`; `null` takes it away, and `undo`
   * gives back the one before. Return how many records changed.
   */
  async relabel(
    which: string | readonly string[] | t.RelabelOptions,
    to: string | null,
    options?: t.RelabelOptions,
    call?: CallOptions,
  ): Promise<number> {
    const named = typeof which === "string" || Array.isArray(which);
    const filter = named ? { ...options, ids: several(which as string | readonly string[]) } : (which as t.RelabelOptions);
    const { body, ...labels } = asked(filter as t.RelabelOptions);
    const sent = { ...labels, body: { ...body, to } };
    return field(await this.request("POST", "/v1/relabel", { ...call, ...sent }), "relabelled");
  }

  /**
   * Delete everything of a user, history, name and tokens included, and leave no byte of it in the store.
   *
   * @returns how many records are gone, and the receipt.
   */
  async purge({ user, ...query }: t.PurgeOptions = {}, call?: CallOptions): Promise<t.Purged> {
    const whose = user === undefined ? this : this.scoped({ user });
    return whose.request("POST", "/v1/purge", { ...call, query });
  }

  // --- reading -------------------------------------------------------------------------------------------

  /** Find the records that matter to a query, by meaning and by words: best first. */
  async recall(query: string, options?: t.RecallOptions, call?: CallOptions): Promise<t.Hit[]> {
    return field(await this.request("POST", "/v1/recall", { ...call, ...asked({ ...options, query }) }), "hits");
  }

  /** Return what to put into an agent's prompt for a question, within a budget of tokens. */
  context(query: string, options?: t.ContextOptions, call?: CallOptions): Promise<t.Context> {
    return this.request("POST", "/v1/context", { ...call, ...asked({ ...options, query }) });
  }

  /** Return the newest records, newest first. */
  async recent(options: t.RecentOptions = {}, call?: CallOptions): Promise<t.MemoryRecord[]> {
    return field(await this.request("POST", "/v1/recent", { ...call, ...asked(options) }), "records");
  }

  /** Return the current record with exactly this key, or null. The kind is "topic" if it is left out. */
  lookup(key: string, options?: t.LookupOptions, call?: CallOptions): Promise<t.MemoryRecord | null> {
    return orNull(this.request("GET", "/v1/lookup", { ...call, query: { ...options, key } }));
  }

  /** Return the record with this id in this scope, superseded or not, or null. */
  async get(id: string, call?: CallOptions): Promise<t.MemoryRecord | null> {
    if (id === "." || id === "..") return (await this.find([id], {}, call)).find((each) => this.#sees(each)) ?? null;
    return orNull(this.request("GET", "/v1/records/{id}", { ...call, id }));
  }

  #sees(record: t.MemoryRecord): boolean {
    const { agent = record.agent, session = record.session } = this.scope;
    return agent === record.agent && session === record.session;
  }

  /** Return the records with these ids, superseded or not. Unknown ids are ignored. */
  async find(ids: string | readonly string[], options?: t.FindOptions, call?: CallOptions): Promise<t.MemoryRecord[]> {
    const body = { ...options, ids: several(ids) };
    return field(await this.request("POST", "/v1/find", { ...call, body }), "records");
  }

  /** Return one page of the records that pass the filter; `iterate` goes on from page to page. */
  browse(options: t.BrowseOptions = {}, call?: CallOptions): Promise<t.Page> {
    return this.request("POST", "/v1/browse", { ...call, ...asked(options) });
  }

  /** Yield every record that passes the filter, oldest first if no order is given, read page by page. */
  async *iterate(
    { page = 1000, order = "oldest", ...options }: t.IterateOptions = {},
    call?: CallOptions,
  ): AsyncGenerator<t.MemoryRecord, void, undefined> {
    const read = (cursor: string | null) => this.browse({ ...options, order, limit: page, cursor }, call);
    for await (const { records } of pages(read)) yield* records;
  }

  /** Return how many records pass the filter. */
  async count(options: t.CountOptions = {}, call?: CallOptions): Promise<number> {
    return field(await this.request("POST", "/v1/count", { ...call, ...asked(options) }), "count");
  }

  /** Return the stored embeddings of records by id; what has none is left out. */
  async vectors(ids: string | readonly string[], call?: CallOptions): Promise<Record<string, number[]>> {
    return field(await this.request("POST", "/v1/vectors", { ...call, body: { ids: several(ids) } }), "vectors");
  }

  /** Return every change of a record, oldest first; [] for one that never was. */
  async history(id: string, call?: CallOptions): Promise<t.Change[]> {
    const found = await orNull(this.request("GET", "/v1/records/{id}/history", { ...call, id }));
    return found === null ? [] : field(found, "changes");
  }

  /** Return what changed, newest first: which records tell another state of the same than earlier ones. */
  changes(options: t.ChangesOptions = {}, call?: CallOptions): Promise<t.ReplacementPage> {
    return this.request("POST", "/v1/changes", { ...call, ...asked(options) });
  }

  /** Return where a record comes from, to the first message; empty where there is no such record. */
  async why(id: string, call?: CallOptions): Promise<t.Provenance> {
    const found = await orNull(this.request("GET", "/v1/records/{id}/why", { ...call, id }));
    return found ?? { sources: [], missing: [] };
  }

  /** Return what was derived from the records with these ids, or from all that pass a filter. */
  async derived(
    which: string | readonly string[] | t.Narrowing,
    options?: t.Narrowing,
    call?: CallOptions,
  ): Promise<t.Derived> {
    return this.request("POST", "/v1/derived", { ...call, ...chosen(which, options) });
  }

  // --- export and load -----------------------------------------------------------------------------------

  /** Yield every record of the scope, superseded ones too, as lines of JSON; the first names the format. */
  export(options: t.ExportOptions = {}, call: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    return linesOf(this.stream("GET", "/v1/export", { ...call, query: options }));
  }

  /**
   * Store the lines that `export` yielded, each record under its own user; records already there are left alone.
   *
   * The lines are read and sent in batches as they come, each of which may be sent again. What was stored before an
   * error stays, and loading all lines again adds the rest.
   *
   * @returns how many were added and were there before, and the lines that could not be read, by number from 1.
   */
  async load(lines: AsyncIterable<string> | Iterable<string>, call: CallOptions = {}): Promise<t.LoadReport> {
    const report: t.LoadReport = { added: 0, existing: 0, bad: [] };
    for await (const { content, before } of batchesOf(lines)) {
      const outgoing = this.#outgoing("POST", "/v1/load", { ...call, content, type: "application/x-ndjson" });
      const found = (await this.#connection.call(outgoing)) as unknown as t.LoadReport;
      report.added += field(found, "added");
      report.existing += field(found, "existing");
      report.bad.push(...field(found, "bad").map(({ number, reason }) => ({ number: number + before, reason })));
    }
    return report;
  }

  /** Return what the token allows, and how far each author of a record is trusted here. */
  async caller(call: CallOptions = {}): Promise<t.Caller> {
    const found = await this.request("GET", "/v1/caller", call);
    field(found, "right");
    return found;
  }
}

/** Yield each page that `read` returns, given the cursor of the page before. */
export async function* pages<P extends { next: string | null }>(
  read: (cursor: string | null) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  for (let cursor: string | null = null; ;) {
    const page: P = await read(cursor);
    yield page;
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** Return a body without the labels, which go into the query. */
function asked<B extends t.Labels>({ agent, session, ...body }: B): t.Labels & { body: Omit<B, keyof t.Labels> } {
  return { ...given({ agent, session }), body };
}

/** All kinds: the filter that says nothing, where a label alone narrows a call. */
const KINDS: Record<t.Kind, true> = {
  message: true,
  note: true,
  topic: true,
  episode: true,
  fact: true,
  experience: true,
  tool_use: true,
  tool_guideline: true,
  state: true,
};

/** Return the ids, or the filter, of a verb that takes either. */
function chosen(which: string | readonly string[] | t.ForgetOptions, options: t.ForgetOptions = {}) {
  if (typeof which === "string" || Array.isArray(which)) {
    const ids = several(which as string | readonly string[]);
    if (ids.length === 0) throw new InvalidInputError("name ids or a filter");
    return asked({ ...options, ids });
  }
  if (typeof which !== "object" || which === null) throw new InvalidInputError(`name ids or a filter, not ${which}`);
  const { body, ...labels } = asked(which as t.ForgetOptions);
  const { source, derived, proposed, ...filter } = body;
  const labelled = Object.keys(labels).length > 0 && Object.keys(given(filter)).length === 0;
  return { ...labels, body: labelled ? { ...body, kind: Object.keys(KINDS) as t.Kind[] } : body };
}

function several(ids: string | readonly string[]): string[] {
  return typeof ids === "string" ? [ids] : (ids as string[]);
}

/** Return an object without the names that have no value. */
function given<T extends object>(names: T): T {
  return Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined)) as T;
}

/** Return the names of a scope that stand among other options. */
function scopeIn(options: t.Scope): t.Scope {
  return Object.fromEntries(NAMES.filter((name) => name in options).map((name) => [name, options[name]]));
}

/** Return a name in the form in which names are compared. */
function composed(name: string | undefined): string {
  return String(name ?? DEFAULT_TENANT).normalize("NFC");
}

async function orNull<T>(coming: Promise<T>): Promise<T | null> {
  try {
    return await coming;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

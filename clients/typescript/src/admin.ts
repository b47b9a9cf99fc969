/** What a user or an operator does with a whole memory, beside the verbs. */

import { field, type CallOptions } from "./connection.js";
import { StoreUnavailableError, errorOf } from "./errors.js";
import { parse } from "./json.js";
import { linesOf } from "./lines.js";
import type { Memory } from "./memory.js";
import type * as t from "./types.js";

/** The inbox, users, traces, audit, retention, checks and copies; `Memory.admin` is this. */
export class Admin {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Return how many current memories each user of the tenant has; the user null stands for the shared ones. */
  async users(call: CallOptions = {}): Promise<t.UserCount[]> {
    return field(await this.#memory.request("GET", "/v1/users", call), "users");
  }

  /** Return one page of the traces of calls of `recall` and `context`, newest first. */
  traces(options: t.TracesOptions = {}, call?: CallOptions): Promise<t.TracePage> {
    return this.#memory.request("POST", "/v1/traces", { ...call, body: options });
  }

  /** Return what agents have asked for and the user has not decided yet, oldest first. */
  async inbox(call: CallOptions = {}): Promise<t.Proposal[]> {
    return field(await this.#memory.request("GET", "/v1/inbox", call), "proposals");
  }

  /** Do what an agent asks for, in the user's words where they are given, and return the records stored or changed. */
  async approve(id: string, content?: string, call?: CallOptions): Promise<t.MemoryRecord[]> {
    const body = content === undefined ? {} : { content };
    return field(await this.#memory.request("POST", "/v1/inbox/{id}/approve", { ...call, id, body }), "records");
  }

  /** Refuse what an agent asks for, and return it; `undo` lets it wait again. */
  reject(id: string, options: t.RejectOptions = {}, call?: CallOptions): Promise<t.Proposal> {
    return this.#memory.request("POST", "/v1/inbox/{id}/reject", { ...call, id, body: options });
  }

  /** Return what may be taken out of this memory: duplicates, contradictions, what is unused, junk. Nothing is changed. */
  tidy(options: t.TidyOptions = {}, call?: CallOptions): Promise<t.TidyReport> {
    return this.#memory.request("POST", "/v1/tidy", { ...call, body: options });
  }

  /** Take records out of all that is recalled, without deleting them; `undo` puts them back. Return how many changed. */
  async archive(ids: string | readonly string[], options: t.ArchiveOptions = {}, call?: CallOptions): Promise<number> {
    const body = { ...options, ids: typeof ids === "string" ? [ids] : [...ids] };
    return field(await this.#memory.request("POST", "/v1/archive", { ...call, body }), "archived");
  }

  /**
   * Yield a checked copy of the whole store; needs an operator's token.
   *
   * In Node: `await writeFile("memorist.db", memory.admin.backup())`, of `node:fs/promises`.
   */
  backup(call: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#memory.stream("GET", "/v1/backup", call);
  }

  /** Return entries of the audit log, oldest first: those about this memory's user, or all of the store. */
  async audit(options: t.AuditOptions = {}, call?: CallOptions): Promise<t.AuditEntry[]> {
    return field(await this.#memory.request("GET", "/v1/audit", { ...call, query: options }), "entries");
  }

  /** Return the number and the hash of the last entry of the audit log, signed. */
  checkpoint(call: CallOptions = {}): Promise<t.Statement> {
    return this.#memory.request("GET", "/v1/audit/checkpoint", call);
  }

  /** Set how long the tenant's records are kept, in place of the rules before, and return the rules. */
  async retain(rules: readonly t.RetentionRule[], call?: CallOptions): Promise<t.RetentionReport["rules"]> {
    return field(
      await this.#memory.request("PUT", "/v1/retention", { ...call, body: { rules: rules as t.RetentionRule[] } }),
      "rules",
    );
  }

  /** Return the tenant's rules, or those given, and how many records of each kind are too old by them now. */
  retention(rules?: readonly t.RetentionRule[], call?: CallOptions): Promise<t.RetentionReport> {
    const body = rules === undefined ? {} : { rules: rules as t.RetentionRule[] };
    return this.#memory.request("POST", "/v1/retention", { ...call, body });
  }

  /** Delete at once what of the tenant's has expired or is too old by its rules, and return how many records. */
  async sweep(call: CallOptions = {}): Promise<number> {
    return field(await this.#memory.request("POST", "/v1/sweep", call), "swept");
  }

  /** Return what holds a secret of a known form, of every user, without the secret; with `redact` each is masked. */
  async secrets({ redact = false }: { redact?: boolean } = {}, call?: CallOptions): Promise<t.Exposed[]> {
    return field(await this.#memory.request("POST", "/v1/secrets", { ...call, body: { redact } }), "secrets");
  }

  /** Read the whole store and return what is damaged, in sentences; [] where all is sound. */
  async check(call: CallOptions = {}): Promise<string[]> {
    return field(await this.#memory.request("GET", "/v1/check", call), "faults");
  }

  /** Embed every record of the store anew, or only what has no vector yet, and return how many were embedded. */
  async reindex({ progress, ...query }: t.ReindexOptions = {}, call?: CallOptions): Promise<number> {
    const parts = this.#memory.stream("POST", "/v1/reindex", { ...call, query });
    for await (const line of linesOf(parts)) {
      const step = parse(line) as Record<string, number>;
      if ("embedded" in step) return step["embedded"]!;
      if ("error" in step) throw errorOf(step);
      progress?.(step["done"]!, step["total"]!);
    }
    throw new StoreUnavailableError("the server ended before the reindex was complete; call it again to resume");
  }
}

/** The connection to a server: what is sent, when it is sent again, and the errors that answers carry. */

import {
  InvalidInputError,
  MemoristError,
  NotFoundError,
  StoreUnavailableError,
  errorOf,
  type ErrorDetails,
} from "./errors.js";
import { parse, stringify } from "./json.js";

/** How a server is reached. */
export interface ConnectionOptions {
  /** The secret that grants access; a server on the same machine may need none. */
  token?: string | undefined;
  /** Milliseconds to wait for an answer, or for the next part of a stream; 60,000 by default. */
  timeout?: number | undefined;
  /** How often a request is sent again, where that is safe; 3 by default. */
  retries?: number | undefined;
  /** In the place of the runtime's own `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** What any call takes beside its arguments. */
export interface CallOptions {
  /** Aborts the call, which then raises the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * The header `Idempotency-Key`, for remember, revise, rate, forget and purge: a text of your own, new for each
   * request. The same request with the same key is carried out once; so it is sent again where its answer was lost.
   */
  key?: string | undefined;
}

/** One request. */
export interface Outgoing extends CallOptions {
  method: string;
  /** From the server's root, encoded. */
  path: string;
  query: Readonly<Record<string, unknown>>;
  content?: string | undefined;
  type?: string | undefined;
  /** Whether it may be sent again where it may have been carried out. */
  repeat: boolean;
}

const STREAMED = /^(application\/(x-ndjson|octet-stream)|text\/plain)\b/;
const FIRST_WAIT = 100;
const LONGEST_WAIT = 10_000;
/** What runtimes call it when no connection came about. */
const UNREACHED = new Set([
  "ConnectionRefused",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The server was not reached, so nothing was done. */
class NotSentError extends StoreUnavailableError {}

/** A server; shared by all scopes of a memory. */
export class Connection {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(url: string, { token, timeout = 60_000, retries = 3, fetch: given }: ConnectionOptions = {}) {
    if (token !== undefined && !/^[!-~]+$/.test(token)) {
      throw new InvalidInputError("a token must be a string of printable ASCII characters without spaces");
    }
    this.url = checkedUrl(url);
    this.#token = token;
    this.#timeout = timeout;
    this.#retries = retries;
    this.#fetch = given ?? ((...request) => fetch(...request));
  }

  /** Return the answer, a JSON object. */
  async call(request: Outgoing): Promise<Record<string, unknown>> {
    return this.#repeated(request, async (patience) => {
      const answer = await this.#sent(request, patience);
      return resultOf(answer, await this.#told(patience, answer.text()));
    });
  }

  /** Yield the answer's parts as they come. */
  async *stream(request: Outgoing): AsyncGenerator<Uint8Array, void, undefined> {
    const [patience, answer] = await this.#repeated(request, async (patience) => {
      const found = await this.#sent(request, patience);
      if (found.ok && STREAMED.test(found.headers.get("content-type") ?? "")) return [patience, found] as const;
      resultOf(found, await this.#told(patience, found.text()));
      throw notAServer(found.status); // as the page of a proxy, with a status of success
    });
    const reader = answer.body!.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#told(patience, reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => undefined); // of what nobody reads on, or what has failed
    }
  }

  async #repeated<T>(request: Outgoing, attempt: (patience: Patience) => Promise<T>): Promise<T> {
    for (let count = 0; ; count += 1) {
      try {
        return await attempt(new Patience(this.#timeout, request.signal));
      } catch (error) {
        const wait = count < this.#retries ? waitAfter(error, request.repeat, count) : undefined;
        if (wait === undefined) throw error;
        await slept(wait, request.signal);
      }
    }
  }

  async #sent({ method, path, query, content, type, key }: Outgoing, patience: Patience): Promise<Response> {
    const headers: Record<string, string> = { accept: "*/*" };
    if (this.#token !== undefined) headers["authorization"] = `Bearer ${this.#token}`;
    if (key !== undefined) headers["idempotency-key"] = checkedKey(key);
    if (content !== undefined) headers["content-type"] = type ?? "application/json";
    // A redirect is not followed: the token is for this server alone, which sends none.
    const asked: RequestInit = { method, headers, redirect: "manual", signal: patience.signal };
    if (content !== undefined) asked.body = content;
    const url = this.url + path + queryOf(query);
    return this.#told(patience, this.#fetch(url, asked));
  }

  /** Return what comes, or raise the error that tells of the connection. */
  async #told<T>(patience: Patience, coming: Promise<T>): Promise<T> {
    try {
      return await patience.of(coming);
    } catch (error) {
      patience.throwIfGivenUp();
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const { code, message } = cause as { code?: string; message?: string };
      if (code !== undefined && UNREACHED.has(code)) {
        throw new NotSentError(`${this.url} cannot be reached: ${message || code}`, { cause: error });
      }
      const what = patience.late ? `nothing came within ${this.#timeout} ms` : message || code || String(cause);
      throw new StoreUnavailableError(
        `the connection to ${this.url} failed (${what}); it is not known whether the call took effect, so check before you repeat it`,
        { cause: error },
      );
    }
  }
}

/** Ends what takes longer than it may, or what the caller gives up. */
class Patience {
  readonly #late = new AbortController();
  readonly #given: AbortSignal | undefined;
  readonly signal: AbortSignal;

  constructor(
    readonly milliseconds: number,
    given: AbortSignal | undefined,
  ) {
    this.#given = given;
    this.signal = given === undefined ? this.#late.signal : AbortSignal.any([given, this.#late.signal]);
  }

  get late(): boolean {
    return this.#late.signal.aborted;
  }

  async of<T>(coming: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#late.abort(), this.milliseconds);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
  }

  throwIfGivenUp(): void {
    this.#given?.throwIfAborted();
  }
}

/** Return how many milliseconds to wait before a request is sent again; undefined if it is not. */
function waitAfter(error: unknown, repeat: boolean, count: number): number | undefined {
  if (!(error instanceof MemoristError)) return undefined;
  const unavailable = error instanceof StoreUnavailableError;
  const undone = error instanceof NotSentError || error.status === 429 || (error.status === 503 && !unavailable);
  const lost = unavailable && (error.status === undefined || error.status === 503);
  if (!undone && !(lost && repeat)) return undefined;
  const own = FIRST_WAIT * 2 ** count * (0.5 + Math.random() / 2);
  const wait = Math.max(own, error.retryAfter ?? 0);
  return wait > LONGEST_WAIT ? undefined : wait;
}

async function slept(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const given = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", given);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", given, { once: true });
  });
}

/** Return the JSON object of an answer, or raise the error that it reports. */
function resultOf(answer: Response, text: string): Record<string, unknown> {
  const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
  const details = { status: answer.status, ...(seconds >= 0 ? { retryAfter: seconds * 1000 } : {}) };
  let found: unknown;
  try {
    found = parse(text);
  } catch {
    found = undefined;
  }
  if (typeof found !== "object" || found === null || Array.isArray(found) || answer.status < 200) {
    throw notAServer(answer.status, details);
  }
  if (answer.ok && answer.status !== 202) return found as Record<string, unknown>;
  throw errorOf(found as Record<string, unknown>, details);
}

/** Return a field of an answer; an answer without it does not come from a Memorist server. */
export function field<T extends object, K extends keyof T>(answer: T, name: K): T[K] {
  if (name in answer) return answer[name];
  throw notAServer(200);
}

function notAServer(status: number, details: ErrorDetails = { status }): StoreUnavailableError {
  const text = `the server that answered with status ${status} is not a Memorist server; it is not known whether the call took effect, so check before you repeat it`;
  return new StoreUnavailableError(text, details);
}

function checkedUrl(url: string): string {
  let at: URL | undefined;
  try {
    at = new URL(url);
  } catch {
    at = undefined; // refused below, in words that do not repeat a password in it
  }
  const extra = at === undefined || at.username || at.password || at.search || at.hash;
  if (at === undefined || extra || !["http:", "https:"].includes(at.protocol)) {
    throw new InvalidInputError(
      "a server's URL begins with http:// or https:// and has a host, like http://127.0.0.1:8765; " +
        "it has no user, query or fragment",
    );
  }
  return at.origin + at.pathname.replace(/\/+$/, "");
}

function checkedKey(key: string): string {
  if (/^[!-~](?:[ -~]{0,253}[!-~])?$/.test(key)) return key;
  throw new InvalidInputError("an idempotency key is a text of 1 to 255 printable ASCII characters");
}

function encoded(name: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (error) {
    throw new InvalidInputError(`${name} holds a lone surrogate, which is not a character`, { cause: error });
  }
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, given] of Object.entries(query)) {
    if (given === undefined) continue;
    const several: unknown[] = Array.isArray(given) ? given : [given];
    if (several.length === 0) throw new InvalidInputError(`${name} is an empty list, which a query cannot hold`);
    for (const each of several) {
      const value: unknown = each instanceof Date ? JSON.parse(stringify(each)) : each;
      if (!["string", "number", "bigint", "boolean"].includes(typeof value)) {
        throw new InvalidInputError(`${name} must be a string, a number or a boolean, not ${value}`);
      }
      parts.push(`${encodeURIComponent(name)}=${encoded(name, String(value))}`);
    }
  }
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/**
 * Return a path with an id in the place of `{id}`, whatever characters the id holds.
 *
 * @throws NotFoundError it is empty, which no record's is.
 * @throws InvalidInputError it is one that no URL can hold.
 */
export function pathOf(template: string, id: string | undefined): string {
  if (!template.includes("{id}")) return template;
  if (typeof id !== "string") throw new InvalidInputError(`id must be a string, not ${id}`);
  if (id === "") throw new NotFoundError("there is no record '' in this scope");
  if (id === "." || id === "..") {
    // However it is encoded, a URL takes it for a step in the path.
    throw new InvalidInputError(`the id '${id}' cannot be sent in a URL; get, find and forget take it`);
  }
  return template.replace("{id}", () => encoded("id", id));
}

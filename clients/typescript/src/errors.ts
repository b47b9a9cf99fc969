/**
 * Every error that this client raises on purpose, the same tree as in Python's `memorist.errors`.
 *
 * What a server reports comes back in the class that it names. A caller's own `AbortSignal` raises its own reason.
 */

export interface ErrorDetails {
  /** The status of the answer. */
  status?: number;
  /** After how many milliseconds the server wants to be asked again. */
  retryAfter?: number;
  cause?: unknown;
}

/** Base of every error that is raised on purpose. */
export class MemoristError extends Error {
  /** The status of the server's answer; undefined where there was none. */
  readonly status: number | undefined;
  /** After how many milliseconds the server wants to be asked again; undefined where it does not say. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { status, retryAfter, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** The name of the class, which is the same in every language. */
  get code(): string {
    return this.name;
  }
}

/** An argument is wrong; the text says which, and what would be right. */
export class InvalidInputError extends MemoristError {}
/** A line to load is not in a form that can be read. */
export class FormatError extends InvalidInputError {}
/** A call names an argument that the verb does not have. */
export class UnknownArgumentError extends InvalidInputError {}
/** A call would cross a wall between tenants or users, or there is no valid token. */
export class ScopeError extends MemoristError {}
/** The record named does not exist in this scope. */
export class NotFoundError extends MemoristError {}
/** An id or a key is taken, or the record was changed by someone else meanwhile. */
export class ConflictError extends MemoristError {}
/** What an agent asks for waits in the inbox for the user's yes; nothing else has changed. */
export class WaitingError extends MemoristError {}
/** The server's memory is not open. */
export class ClosedError extends MemoristError {}
/** The store could not do what was asked; nothing was half-written. */
export class StoreError extends MemoristError {}
/** The server has too much to do; the call can be repeated. */
export class StoreBusyError extends StoreError {}
/** No space is left where the store writes. */
export class StoreFullError extends StoreError {}
/** The store's file is damaged. */
export class StoreCorruptError extends StoreError {}
/** The key of an encrypted store does not fit it. */
export class StoreKeyError extends StoreError {}
/** The server cannot be reached, or the connection failed; the text says whether the outcome is known. */
export class StoreUnavailableError extends StoreError {}
/** The store was written by another version. */
export class SchemaError extends StoreError {}
/** The embedder failed. */
export class EmbedderError extends MemoristError {}
/** The embedder cannot be reached or loaded now. */
export class EmbedderUnavailableError extends EmbedderError {}
/** The store holds vectors of another embedder. */
export class EmbedderMismatchError extends EmbedderError {}
/** The chat model failed. */
export class ModelError extends MemoristError {}
/** The chat model cannot be reached now. */
export class ModelUnavailableError extends ModelError {}
/** A message bus failed. */
export class BusError extends MemoristError {}
/** A statement cannot be signed, or is not genuine. */
export class SignatureError extends MemoristError {}
/** The server lacks an optional package. */
export class MissingExtraError extends MemoristError {}

const CLASSES: Record<string, typeof MemoristError> = {
  MemoristError,
  InvalidInputError,
  FormatError,
  UnknownArgumentError,
  ScopeError,
  NotFoundError,
  ConflictError,
  WaitingError,
  ClosedError,
  StoreError,
  StoreBusyError,
  StoreFullError,
  StoreCorruptError,
  StoreKeyError,
  StoreUnavailableError,
  SchemaError,
  EmbedderError,
  EmbedderUnavailableError,
  EmbedderMismatchError,
  ModelError,
  ModelUnavailableError,
  BusError,
  SignatureError,
  MissingExtraError,
};
// Not of the classes' own names, which a bundler may shorten.
for (const [name, kind] of Object.entries(CLASSES)) Object.defineProperty(kind.prototype, "name", { value: name });

/** Return the error that a server's problem document reports, in its own class. */
export function errorOf(problem: Readonly<{ [name: string]: unknown }>, details: ErrorDetails = {}): MemoristError {
  const name = String(problem["error"]);
  const kind = Object.hasOwn(CLASSES, name) ? CLASSES[name]! : MemoristError;
  return new kind(String(problem["detail"] || "the server answered with an error"), details);
}

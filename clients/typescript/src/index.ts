/** Memorist's client: long-term memory for LLM agents, at a server. */

export { Admin } from "./admin.js";
export { Connection, type CallOptions, type ConnectionOptions } from "./connection.js";
export * from "./errors.js";
export { linesOf } from "./lines.js";
export { Memory, pages } from "./memory.js";
export type * from "./types.js";

/**
 * The client as one of the doors of tests/test_doors.py: reads calls as lines of JSON, and answers each with a line.
 *
 * A call has the verb, the tenant, the user or null, the zone or null, and the arguments as Python names them.
 */

import { createInterface } from "node:readline";

import { Memory, MemoristError, type Scope } from "memorist";

// The client's own, for whole numbers of any size.
import { parse, stringify } from "../dist/json.js";

interface Call {
  verb: string;
  tenant: string;
  user: string | null;
  zone: string | null;
  /** Of any type, as a program without types may give them. */
  arguments: any;
}

/** How the client is asked, where that is not `memory.verb(arguments)`. */
const ASKED: Record<string, (memory: Memory, given: Call["arguments"]) => Promise<unknown>> = {
  remember: (memory, { content, ...fields }) => memory.remember(content, fields),
  propose: (memory, { content, ...fields }) => memory.remember(content, { ...fields, proposed: true }),
  approve: (memory, { id, content }) => memory.admin.approve(id, content),
  reject: (memory, { id, ...options }) => memory.admin.reject(id, options),
  get: (memory, { id }) => memory.get(id),
  history: (memory, { id }) => memory.history(id),
  why: (memory, { id }) => memory.why(id),
  revise: (memory, { id, ...changes }) => memory.revise(id, changes),
  rate: (memory, { id, rating, ...options }) => memory.rate(id, rating, options),
  forget: (memory, { id, ...options }) => memory.forget(id, options),
  derived: (memory, { id, ...options }) => memory.derived(id, options),
  lookup: (memory, { key, ...options }) => memory.lookup(key, options),
  context: (memory, { query, ...options }) => memory.context(query, options),
  recall: (memory, { query, ...options }) => memory.recall(query, options),
  retain: (memory, { rules }) => memory.admin.retain(rules),
  retention: (memory, { rules }) => memory.admin.retention(rules),
};

async function answered({ verb, tenant, user, zone, arguments: given }: Call): Promise<unknown> {
  const scope: Scope = { tenant, ...(user !== null && { user }), ...(zone !== null && { zone }) };
  const memory = everyone.scoped(scope);
  if (ASKED[verb] !== undefined) return ASKED[verb](memory, given);
  const asked = (verb in memory ? memory : memory.admin) as unknown as Record<
    string,
    (given: object) => Promise<unknown>
  >;
  return asked[verb]!(given);
}

const everyone = await Memory.connect(process.argv[2]!);
for await (const line of createInterface(process.stdin)) {
  try {
    console.log(stringify({ answer: await answered(parse(line) as Call) }));
  } catch (error) {
    if (!(error instanceof MemoristError)) throw error;
    console.log(stringify({ error: error.code, message: error.message }));
  }
}

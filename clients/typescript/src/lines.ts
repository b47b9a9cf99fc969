/** Lines of JSON, the form of an export: read from bytes, and put together for a load. */

/** Yield the lines of a stream of bytes, or of texts that may each hold several lines or a part of one. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let parts: string[] = [];
  for await (const chunk of chunks) {
    const [first, ...more] = (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })).split("\n");
    parts.push(first!);
    for (const line of more) {
      yield parts.join("");
      parts = [line];
    }
  }
  parts.push(decoder.decode());
  if (parts.some((part) => part !== "")) yield parts.join("");
}

/** Lines that are sent together. */
export interface Batch {
  content: string;
  /** What to add to a line's number in the batch to have its number in the whole. */
  before: number;
}

const MOST_LINES = 500;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** Yield the lines of an export in batches, each an export with the header of the whole. */
export async function* batchesOf(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Batch, void, undefined> {
  let some: string[] = [];
  let header: string | undefined;
  let number = 0;
  let before = 0;
  let held = 0;
  for await (const line of lines) {
    number += 1;
    if (header === undefined && line.trim() !== "") header = line;
    some.push(line);
    held += line.length;
    if (some.length >= MOST_LINES || held >= MOST_CHARACTERS) {
      yield { content: some.join("\n"), before };
      some = header === undefined ? [] : [header];
      before = number - some.length;
      held = 0;
    }
  }
  if (before === 0 || some.length > 1) yield { content: some.join("\n"), before };
}

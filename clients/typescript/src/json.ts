/** JSON in which whole numbers of any size, as BigInt, arrive as they were sent, and nothing is left out unnoticed. */

import { InvalidInputError } from "./errors.js";

/** Return bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return a random text that occurs in no other. */
export function unique(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/**
 * Return a value as JSON. A Date becomes its ISO form.
 *
 * @throws InvalidInputError JSON cannot hold something in it, as NaN, a Map or an invalid Date.
 */
export function stringify(value: unknown): string {
  const mark = unique();
  let large = false;
  function checked(this: unknown, key: string, each: unknown): unknown {
    if (typeof each === "bigint") {
      large = true;
      return mark + each;
    }
    const given = (this as Record<string, unknown>)[key];
    if (!isJson(each) || (given instanceof Date && each === null) || (each === undefined && Array.isArray(this))) {
      throw new InvalidInputError(`the arguments are not JSON: ${key} is ${describe(given)}`);
    }
    return each;
  }
  let text: string;
  try {
    text = JSON.stringify(value, checked);
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(`the arguments are not JSON: ${(error as Error).message}`, { cause: error });
  }
  return large ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "object" && value !== null) return Array.isArray(value) || !(Symbol.iterator in value);
  return typeof value !== "function" && typeof value !== "symbol";
}

function describe(value: unknown): string {
  return typeof value === "object" ? Object.prototype.toString.call(value).slice(8, -1) : String(value);
}

/** Return the value of a JSON text. A whole number that a Number would round becomes a BigInt. */
export function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const mark = unique();
  const marked = markLarge(text, mark);
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, each: unknown) =>
    typeof each === "string" && each.startsWith(mark) ? BigInt(each.slice(mark.length)) : each,
  );
}

/** Return JSON in which large whole numbers are texts that begin with a mark; what stands in texts is left alone. */
function markLarge(text: string, mark: string): string {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const quote = text.indexOf('"', from);
    const begin = quote < 0 ? text.length : quote;
    const end = quote < 0 ? text.length : endOfText(text, quote);
    const outside = text
      .slice(from, begin)
      .replace(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g, (digits) =>
        Number.isSafeInteger(Number(digits)) ? digits : `"${mark}${digits}"`,
      );
    parts.push(outside, text.slice(begin, end));
    from = end;
  }
  return parts.join("");
}

function endOfText(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}

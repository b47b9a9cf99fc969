// Makes src/openapi.ts: the types of the REST interface, from the lines in which the server's own tests pin it.
import { readFile, writeFile } from "node:fs/promises";

import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const PINNED = new URL("../../../tests/serve/openapi.txt", import.meta.url);
const MADE = new URL("../src/openapi.ts", import.meta.url);

/** Return the description that stands in lines, each the path to a value and the value as JSON. */
function described(lines) {
  const whole = {};
  for (const line of lines) {
    const [, words, value] = /^((?:[^\s{"]\S* )+)(.*)$/.exec(line);
    const path = words.trim().split(" ");
    const last = path.pop();
    const place = path.reduce((inner, name) => (inner[name] ??= {}), whole);
    place[last] = JSON.parse(value);
  }
  whole.info.version = "1"; // the lines leave out the server's
  return whole;
}

const keyword = (kind) => ts.factory.createKeywordTypeNode(ts.SyntaxKind[`${kind}Keyword`]);
const TIME = ts.factory.createUnionTypeNode([
  keyword("String"),
  keyword("Number"),
  ts.factory.createTypeReferenceNode("Date"),
]);

const document = described((await readFile(PINNED, "utf8")).trim().split("\n"));
const types = await openapiTS(document, {
  defaultNonNullable: false, // an argument with a default may be left out
  emptyObjectsUnknown: true,
  // A text or a number is always a time; JSON writes a Date as the former.
  transform: ({ type }) => (JSON.stringify(type) === '["string","number"]' ? TIME : undefined),
});
await writeFile(MADE, astToString(types));

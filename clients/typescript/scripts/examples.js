// Writes each page's typescript blocks into a module of test/examples, where they are type-checked, and run at the
// server that the environment names.
import { mkdir, readFile, writeFile } from "node:fs/promises";

const PAGES = { readme: "../README.md", typescript: "../../../docs/typescript.md" };
const MADE = new URL("../test/examples/", import.meta.url);

await mkdir(MADE, { recursive: true });
for (const [name, page] of Object.entries(PAGES)) {
  const text = await readFile(new URL(page, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```typescript\n(.*?)^```$/gms)].map(([, block]) => block);
  const program = blocks.join("\n").replace('"http://127.0.0.1:8765"', 'process.env["EXAMPLES_AT"]!');
  await writeFile(new URL(`${name}.ts`, MADE), program);
}

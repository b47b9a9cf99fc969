/** What the README and the page of the documentation show, run as it stands there. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { started } from "./server.js";

const PAGES = { readme: "../README.md", typescript: "../../../docs/typescript.md" };
const server = await started({ MEMORIST_EMBEDDER: "" }); // the one that a user has

for (const [name, page] of Object.entries(PAGES)) {
  test(`${name}: prints what the page says`, async () => {
    const text = await readFile(new URL(page, import.meta.url), "utf8");
    const expected = [...text.matchAll(/^```text\n(.*?)^```$/gms)].map(([, block]) => block).join("");
    const pattern = expected.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const folder = await mkdtemp(join(tmpdir(), "memorist-"));
    const script = fileURLToPath(new URL(`examples/${name}.js`, import.meta.url));
    const env = { ...process.env, EXAMPLES_AT: server.url };
    const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: folder, env });
    await rm(folder, { recursive: true });
    assert.match(stdout, new RegExp(`^${pattern.join("[^]*?")}$`));
  });
}

/** What the tests talk to: the program `memorist` on a file of its own, and a proxy that loses answers. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

const PROGRAM = "memorist";

class Started {
  constructor(
    readonly url: string,
    readonly db: string,
    readonly env: NodeJS.ProcessEnv,
    readonly process: ChildProcess,
  ) {}

  /** Return the secret of a new token. */
  token(name: string, ...options: string[]): string {
    const printed = execFileSync(PROGRAM, ["--db", this.db, "token", "create", name, ...options], { env: this.env });
    return /mem_\S+/.exec(printed.toString())![0];
  }

  /** Stop the server and wait until it is gone. */
  async stop(): Promise<void> {
    const gone = once(this.process, "exit");
    this.process.kill();
    await gone;
  }
}

/** Start a server with these variables; it is stopped, and its file removed, after all tests. */
export async function started(settings: NodeJS.ProcessEnv): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), "memorist-"));
  const db = join(folder, "memorist.db");
  const env = { ...process.env, MEMORIST_EMBEDDER: "hash", ...settings };
  const child = spawn(PROGRAM, ["--db", db, "serve", "--port", "0"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const server = new Started(/http:\S+/.exec(line)![0], db, env, child);
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  return server;
}

/** The server of all tests but the examples'. */
export const server = await started({ MEMORIST_AUDIT: "changes", MEMORIST_KEEP_TRACES: "1d", MEMORIST_CONFIRM: "1" });

/** Serve what a function answers, until the test that called this is over, and return the URL. */
export async function serving(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Return a URL at which nothing listens. */
export async function unserved(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

/** A proxy in front of a server that passes requests on, and loses the first answers. */
export class Losing {
  /** How many answers to lose from now on. */
  lost = 0;
  /** What was asked: method, path and idempotency key. */
  asked: [string, string, string | undefined][] = [];

  url(server: string): Promise<string> {
    return serving((incoming, outgoing) => {
      this.asked.push([incoming.method!, incoming.url!, incoming.headers["idempotency-key"] as string | undefined]);
      const { method, headers } = incoming;
      const passed = request(server + incoming.url, { method, headers }, (answer) => {
        if (this.lost > 0) {
          this.lost -= 1;
          answer.resume().on("end", () => incoming.socket.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on("error", () => incoming.socket.destroy());
      incoming.pipe(passed);
    });
  }
}

import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { doors as doorsCheck } from "./doors.ts";

function verdict(path: string, text: string): string | null {
  return findingsOf(new Map([[path, text]]), doorsCheck)[0]?.message ?? null;
}

/** Text → the file that may hold it. Everywhere else in the product it must be found. */
const doors: [text: string, door: string | null][] = [
  ['const x = Deno.env.get("A");', "src/main/config.ts"],
  ['const x = Deno["env"].toObject();', "src/main/config.ts"],
  ["const x = process.env.A;", "src/main/config.ts"],
  ["const x = globalThis.Deno.env;", "src/main/config.ts"],
  ["const x = Date.now();", "src/base/clock.ts"],
  ["const x = new Date();", "src/base/clock.ts"],
  ["const x = Date();", "src/base/clock.ts"],
  ["const now = Date.now;", "src/base/clock.ts"],
  ["const x = performance.now();", "src/base/clock.ts"],
  ['console.log("x");', "src/base/log.ts"],
  ['console.log("x");', "program.ts"],
  ['const x = new URL("./a.css", import.meta.url);', "src/base/program_files.ts"],
  ['const x = JSON.parse("{}");', "src/base/exact_json.ts"],
  ["const x = texts.map(JSON.parse);", "src/base/exact_json.ts"],
  ['await fetch("https://a");', null],
  ['await globalThis.fetch("https://a");', null],
  ["const x = Math.random();", null],
  ["setTimeout(f, 1);", "src/evals/runner.ts"],
  ["const x = AbortSignal.timeout(1);", "src/vendors/upstream.ts"],
  ["await Deno.connect({ port: 1 });", "src/vendors/upstream.ts"],
  ['import { request } from "node:https";', "src/main/run_health.ts"],
  ['import http from "node:http";', "src/listener/open.ts"],
  ['import { Client } from "undici";', null],
  ['import net from "node:net";', "src/vendors/http1/connect.ts"],
  ['import postgres from "postgres";', "src/database/postgres/postgres.ts"],
  ['import type { Sql } from "postgres";', "src/database/postgres/postgres.ts"],
  ['import { PGlite } from "@electric-sql/pglite";', "src/database/embedded/serve.ts"],
  ['import { Hono } from "hono";', "src/http/bind.ts"],
  ['import { stream } from "hono/streaming";', "src/dashboard/page.tsx"],
  ['import process from "node:process";', null],
  ["const { env } = Deno;", null],
];

Deno.test("what has a door is found outside it and allowed inside", () => {
  for (const [text, door] of doors) {
    assert.notEqual(verdict("src/relay/a.ts", text), null, `not found: ${text}`);
    assert.notEqual(verdict("src/http/routes/a.ts", text), null, `not found: ${text}`);
    if (door !== null) assert.equal(verdict(door, text), null, `${door}: ${text}`);
  }
});

Deno.test("routes may name the web framework's types, floors below may not", () => {
  const text = 'import type { Hono } from "hono";';
  assert.equal(verdict("src/http/routes/a.ts", text), null);
  assert.notEqual(verdict("src/relay/a.ts", text), null);
});

Deno.test("what only looks like a door is fine", () => {
  const fine = [
    "const x = new Date(0);",
    "const x = new Date(clock.now());",
    "const answer = await app.fetch(request);",
    "const random: () => number = Math.random;",
    "const x = clock.now();",
    'import type { IncomingMessage } from "node:http";',
    'const text = "console.log(Deno.env)"; // Date.now()',
    "log.info({ console: 1, performance: 2 });",
  ];
  for (const text of fine) assert.equal(verdict("src/relay/a.ts", text), null, text);
});

Deno.test("tests and scripts for the browser have no doors", () => {
  for (const path of ["src/relay/a_test.ts", "tests/a_test.ts", "src/dashboard/static/a.js"]) {
    assert.equal(verdict(path, 'await fetch("/x"); console.log(Date.now());'), null);
  }
});

import { openDatabase } from "../../src/database/open.ts";
import { Secret } from "../../src/base/secret.ts";
import type { Database } from "../../src/database/database.ts";
import { startTestService } from "./service.ts";

/** Starts and stops a service, and returns the key that its first start printed. */
export async function firstKey(env: Record<string, string>): Promise<string> {
  await using service = await startTestService({ env });
  return service.key;
}

/** Runs `work` on a database that no process has open. */
export async function inDatabase(
  url: string | undefined,
  dataDir: string,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(url === undefined ? undefined : new Secret(url), dataDir);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

export function headers(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, "content-type": "application/json" };
}

/** Requests an export. */
export function post(
  service: { readonly baseUrl: string },
  key: string,
  body: unknown,
  more: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.baseUrl}/api/v1/exports`, {
    method: "POST",
    headers: { ...headers(key), ...more },
    body: JSON.stringify(body),
  });
}

import { claimDataDir } from "../../src/database/data_dir.ts";
import type { FirstStart } from "../../src/main/serve.ts";
import { cohorts, demoCalls, demoDays } from "./calls.ts";

/** More than sixty days of demo calls cost. */
const creditNanos = 100n * 1_000_000_000n;
const oneNanos = 1_000_000_000n;
const rowsPerInsert = 500;

/** Exists while the demo is being filled. */
function noteIn(dataDir: string): string {
  return `${dataDir}/filling`;
}

/**
 * Removes the data of a demo that was stopped while it was filled, so that its next start is a first
 * start again: it would have only some of its calls for good, and nobody has seen its key. Throws an
 * Error of one line if a process holds `dataDir`.
 */
export async function removeUnfilled(dataDir: string): Promise<void> {
  const isFilled = await Deno.stat(noteIn(dataDir)).then(() => false, () => true);
  if (isFilled) return;
  const claim = await claimDataDir(dataDir);
  // Nothing else, since a folder named demo may hold files of the user's. The note goes last, in case
  // this is stopped as well.
  for (const { name } of [...Deno.readDirSync(dataDir)]) {
    if (!["database", "journal", "workers"].includes(name)) continue;
    await Deno.remove(`${dataDir}/${name}`, { recursive: true });
  }
  await Deno.remove(noteIn(dataDir));
  await claim.release();
}

/**
 * Fills the demo's database: sixty days of calls through the store that records real calls, so that
 * usage sums, key charges and ledger include them; outcomes at the times of their calls, since a
 * day's outcomes are compared with that day's calls; and an evaluation through the API.
 */
export async function fillDemo(start: FirstStart): Promise<void> {
  const note = noteIn(start.services.config.dataDir);
  await Deno.writeTextFile(note, "");
  await fill(start);
  await Deno.remove(note);
}

async function fill({ services, key, address }: FirstStart): Promise<void> {
  const account = await services.stores.accounts.first();
  const page = { after: null, limit: 1 };
  const [apiKey] = account ? await services.stores.apiKeys.page(account.id, page) : [];
  if (!account || !apiKey) throw new Error("The demo has no account yet");
  await services.stores.ledger.grant(account.id, creditNanos, {
    note: `credit for ${demoDays} days of demo calls`,
  });
  services.log.info("the demo is filled with calls, which takes some seconds", { days: demoDays });
  const { prices } = services.vendors;
  const rows = [...demoCalls({
    ...{ accountId: account.id, apiKeyId: apiKey.id, now: services.clock.now() },
    priceOf: (vendor, model, at) => prices.find(vendor, model, at),
  })];
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    await services.records.interactions.insert(rows.slice(at, at + rowsPerInsert));
  }
  for (const [index, cohort] of cohorts.entries()) {
    const orders = rows.filter(({ cohortId, status }, n) =>
      cohortId === cohort && status === "completed" && n % (index === 0 ? 9 : 6) === 0
    ).slice(0, 400);
    await services.cohorts.post({
      ...{ accountId: account.id, apiKeyId: apiKey.id, cohortId: cohort },
      requestId: `demo-${cohort}`,
      items: orders.flatMap(({ transactionId, createdAt }, n) => {
        const more = { label: null, itemId: null, transactionId, sessionId: null, at: createdAt };
        return [
          { type: "orders", valueNanos: oneNanos, ...more },
          { type: "revenue", valueNanos: BigInt(199 + 70 * (n % 5)) * oneNanos / 10n, ...more },
        ];
      }),
    });
  }
  const answer = await fetch(`${address}/api/v1/evals`, {
    method: "POST",
    headers: { authorization: `Bearer ${key.reveal()}`, "content-type": "application/json" },
    body: JSON.stringify({
      name: "A cheaper model for support",
      ...{ model: "anthropic/claude-haiku-4-5", limit: 12 },
      filters: { app: "support", status: "completed" },
      graders: [{ type: "contains", value: "order" }],
    }),
  });
  if (!answer.ok) throw new Error(`evals: ${answer.status} ${await answer.text()}`);
  await answer.body?.cancel();
}

/**
 * Many pictures of 4 MiB at once through a process of its own: memory stays flat, since large bodies
 * are processed a few at a time. `PICTURES` says how many; the long round takes 200. The gate has
 * them edited, which sends and answers pictures; the long round has them drawn too, in both forms.
 */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { firstKey } from "../support/export_processes.ts";
import { onePicture, startPictureVendor } from "../support/picture_vendor.ts";
import { createMigrated, databasesOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { asStarted, measured, mebibytes, residentBytes } from "../support/resident.ts";

const pictures = Number(Deno.env.get("PICTURES") ?? "14");
const pictureBytes = 4 * 1024 * 1024;
const limitBytes = 200 * 1024 * 1024;

if (databasesOfThisRun().embedded) {
  Deno.test(`${pictures} pictures at once in flat memory (embedded)`, async () => {
    const dataDir = await Deno.makeTempDir({ prefix: "pictures-size-" });
    try {
      await prove({ DATA_DIR: dataDir });
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
}

const { available, reason } = postgresAvailability();
Deno.test({
  name: `${pictures} pictures at once in flat memory (postgres${
    available ? "" : `; skipped: ${reason}`
  })`,
  ignore: !available,
  async fn() {
    const created = await createMigrated();
    const dataDir = await Deno.makeTempDir({ prefix: "pictures-size-" });
    try {
      await prove({ DATA_DIR: dataDir, DATABASE_URL: created.url });
    } finally {
      await created.drop();
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

async function prove(env: Record<string, string>): Promise<void> {
  await using vendor = startPictureVendor(pictureBytes);
  const vendorEnv = { VENDOR_B_BASE_URL: vendor.url, VENDOR_B_API_KEY: "sk-of-a-test" };
  const key = await firstKey({ ...env, STARTING_CREDIT_USD: "1000" });
  await using service = await startService({
    env: { ...env, ...vendorEnv, ...asStarted() },
    timeoutMs: 120_000,
  });
  // Forgets a connection well before the service does, however slow the machine is.
  using client = Deno.createHttpClient({ poolIdleTimeout: 10_000 });
  const ask = asker(service, key, client);
  const started = await residentBytes(service);
  // What the first calls load is there for all that follow.
  await many(1, ask.generated);
  await many(1, ask.edited);
  await rest(service);
  const idle = await residentBytes(service);
  const rounds = [["edited", ask.edited]] as const;
  const longRounds = [["generated", ask.generated], ["by the unified body", ask.unified]] as const;
  for (const [what, one] of pictures < 100 ? rounds : [...rounds, ...longRounds]) {
    const { peak, seconds } = await measured(service, async () => {
      await many(pictures, one);
      await rest(service);
    });
    console.error(
      `${pictures} pictures ${what} at once: ${seconds.toFixed(1)} s, ` +
        `${mebibytes(peak - idle)} MiB over the idle ${mebibytes(idle)} MiB ` +
        `(${mebibytes(started)} MiB before the first call)`,
    );
    assert.ok(peak - idle <= limitBytes, `${mebibytes(peak - idle)} MiB over idle`);
  }
}

async function many(count: number, one: (index: number) => Promise<Response>): Promise<void> {
  const lengths = await Promise.all(Array.from({ length: count }, async (_, index) => {
    const answer = await one(index);
    assert.equal(answer.status, 200, answer.status === 200 ? "" : await answer.text());
    let length = 0;
    for await (const piece of answer.body!) length += piece.length;
    return length;
  }));
  for (const length of lengths) assert.ok(length > pictureBytes * 4 / 3);
}

/** Until all that was answered is in the store. */
async function rest(service: ServiceProcess): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    if (/^gateway_records_waiting 0$/m.test(metrics)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function asker({ baseUrl }: ServiceProcess, key: string, client: Deno.HttpClient) {
  const given = onePicture(pictureBytes);
  const authorization = `Bearer ${key}`;
  const post = (path: string, body: BodyInit, type: string) =>
    fetch(baseUrl + path, {
      method: "POST",
      headers: { authorization, "content-type": type },
      body,
      client,
    });
  return {
    generated: () =>
      post(
        "/vendor-b/v1/images/generations",
        JSON.stringify({ model: "gpt-image-2", prompt: "A red door.", quality: "low" }),
        "application/json",
      ),
    unified: () =>
      post(
        "/imagen/v1/generate",
        JSON.stringify({ model: "vendor-b/gpt-image-2", prompt: "A red door.", quality: "low" }),
        "application/json",
      ),
    edited: (index: number) => {
      const own = Buffer.from(given);
      own.writeUInt32BE(index, 64);
      const form = new FormData();
      form.set("model", "gpt-image-2");
      form.set("prompt", "Paint it green.");
      form.set("quality", "low");
      form.set("image", new File([own], "given.png", { type: "image/png" }));
      return fetch(`${baseUrl}/vendor-b/v1/images/edits`, {
        method: "POST",
        headers: { authorization },
        body: form,
        client,
      });
    },
  };
}

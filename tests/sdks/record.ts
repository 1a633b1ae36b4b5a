import type { SeenCall } from "./judge.ts";

/** What the gate sends again: a request as a client wrote it. */
export interface Recorded {
  readonly feature: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Headers that say how a request is to be read. */
const recordedHeaders = /^(anthropic-(beta|version)|openai-beta|x-goog-api-client|accept)$/;

/** What stands for parts of the conversation that the service or the vendor has stored. */
const storedParts = /"previous_(response|message)_id":"|"item_reference"/;

export const fixtures = `${import.meta.dirname}/../fixtures/sdks`;

/** Writes the last request of each feature that is whole in itself. */
export async function record(
  name: string,
  seen: ReadonlyMap<string, readonly SeenCall[]>,
): Promise<void> {
  const recorded: Recorded[] = [];
  for (const feature of ["stream", "tools", "object"]) {
    const last = (seen.get(feature) ?? []).findLast(({ call }) =>
      call.status === 200 && !storedParts.test(call.requestText)
    );
    if (!last) continue;
    const { path, requestHeaders, requestText } = last.call;
    const headers = [...requestHeaders].filter(([header]) => recordedHeaders.test(header));
    recorded.push({
      ...{ feature, path, headers: Object.fromEntries(headers) },
      body: JSON.parse(requestText),
    });
  }
  await Deno.mkdir(fixtures, { recursive: true });
  const lines = recorded.map((one) => JSON.stringify(one));
  const path = `${fixtures}/${name}.json`;
  await Deno.writeTextFile(path, `[\n${lines.join(",\n")}\n]\n`);
  await new Deno.Command("deno", { args: ["fmt", "-q", path] }).output();
}

import type { TappedCall } from "../matrix/tap.ts";

/** Headers of a call that its replay needs. */
const recordedHeaders =
  /^(anthropic-|openai-beta|x-goog-api-client|accept$|user-agent$|x-stainless-lang$)/;

/** Writes what an agent sent, without the key and the paths of this machine. */
export async function record(
  name: string,
  calls: readonly TappedCall[],
  secrets: readonly string[],
): Promise<void> {
  const posts = calls.filter(({ method, status }) => method === "POST" && status === 200);
  // The largest has the tools; with the result of one it is the last of them.
  const largest = posts.toSorted((a, b) => b.requestText.length - a.requestText.length)[0];
  if (!largest) return;
  const scrub = (text: string) =>
    secrets.reduce(
      (rest, secret, at) => rest.replaceAll(secret, ["KEY", "/home", "/work"][at]!),
      text,
    )
      .replaceAll(
        /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
        (one) => one.replaceAll(/[0-9a-f]/g, "0"),
      )
      .replaceAll(/"[0-9a-f]{64}"/g, `"${"0".repeat(64)}"`)
      .replaceAll(Deno.hostname(), "machine")
      .replaceAll(/Linux \d[\w.+-]*/g, "Linux")
      // It was issued for arguments that have changed with the paths above.
      .replaceAll(
        /"thoughtSignature":"[^"]*"/g,
        '"thoughtSignature":"skip_thought_signature_validator"',
      );
  const headers = [...largest.requestHeaders].filter(([header]) => recordedHeaders.test(header));
  const fixture = {
    path: largest.path,
    headers: Object.fromEntries(headers),
    body: JSON.parse(scrub(largest.requestText)),
  };
  const folder = `${import.meta.dirname}/../fixtures/agents`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/${name}.json`, `${JSON.stringify(fixture)}\n`);
}

/** Vendors that report the tokens of the prompt or of the answer, but not of both. */
import assert from "@std/assert";
import { estimateTokens } from "../../src/shared/token_estimate.ts";
import { dialectNames, nanosOf, startFourVendors } from "../support/four_vendors.ts";
import { answering, answersWithUsage, totalNames } from "./usage_answers.ts";

const said = "The vendor has counted only half of this answer.";
Deno.test("the half that a vendor doesn't report is estimated, the other stays", async () => {
  await using service = await startFourVendors();
  const calls: { what: string; id: string; tokens: (number | undefined)[] }[] = [];
  for (const vendor of dialectNames) {
    const [input, output] = totalNames[vendor];
    const usages: [object, (number | undefined)[]][] = [
      [{ [input]: 700, [output]: null }, [700, estimateTokens(said)]],
      [{ [input]: 700 }, [700, estimateTokens(said)]],
      [{ [input]: null, [output]: 900 }, [undefined, 900]],
      [{ [output]: 0 }, [undefined, 0]],
    ];
    for (const [usage, tokens] of usages) {
      for (const caller of dialectNames) {
        for (const stream of [false, true]) {
          const script = answering(answersWithUsage[vendor](usage, said), stream);
          const response = await service.call({ caller, vendor, stream, script });
          await response.text();
          const id = response.headers.get("x-transaction-id")!;
          const what = `${caller} → ${vendor}, ${JSON.stringify(usage)}${
            stream ? ", streamed" : ""
          }`;
          calls.push({ what, id, tokens });
        }
      }
    }
  }
  const rows = new Map((await service.rows()).map((row) => [row.transaction_id, row]));
  const wrong = calls.filter(({ id, tokens: [input, output] }) => {
    const row = rows.get(id)!;
    const [read, written] = [Number(row.input_tokens), Number(row.output_tokens)];
    const isCounted = read > 0 && written === output && (input ?? read) === read;
    const cost = 2000n * BigInt(read) + 8000n * BigInt(written);
    return !isCounted || row.billing_basis !== "estimated" || nanosOf(row.charged_usd) !== cost;
  });
  assert.deepEqual(wrong.map(({ what, id }) => [what, rows.get(id)]), []);
  assert.equal(calls.length, 128);
});

/** What a vendor may write for a total; undefined: nothing. */
const written = [undefined, null, 0, 700, -3, 2.5, "7", 1e18] as const;

type Total = typeof written[number];

const isMissing = (total: Total) => total === undefined || total === null;
const isCount = (total: Total) => total === 0 || total === 700;

/** Whether a row has the totals that a vendor reported, and estimates in place of others. */
function isBilled(
  { input, output, words }: { input: Total; output: Total; words: string },
  row: Readonly<Record<string, unknown>>,
): boolean {
  const [read, wrote] = [Number(row.input_tokens), Number(row.output_tokens)];
  const charged = 2000n * BigInt(read) + 8000n * BigInt(wrote);
  if (nanosOf(row.charged_usd) !== charged) return false;
  const said = estimateTokens(words);
  const isUsable = [input, output].every((one) => isCount(one) || isMissing(one)) &&
    !(isMissing(input) && isMissing(output));
  const isRead = isUsable && isCount(input) ? read === input : read > 0;
  const isWritten = wrote === (isUsable && isCount(output) ? output : said);
  const isReported = isUsable && isCount(input) && (isCount(output) || words === "");
  return isRead && isWritten && row.billing_basis === (isReported ? "reported" : "estimated");
}

Deno.test("whatever a vendor writes for its totals, words are paid once, and nothing twice", async () => {
  await using service = await startFourVendors();
  const pairs = written.flatMap((one): [Total, Total][] => [[one, one], [one, 700], [700, one]]);
  const calls: { id: string; vendor: string; input: Total; output: Total; words: string }[] = [];
  for (const vendor of dialectNames) {
    const [inputName, outputName] = totalNames[vendor];
    for (const [input, output] of pairs) {
      for (const words of [said, ""]) {
        for (const stream of [false, true]) {
          const usage = { [inputName]: input, [outputName]: output };
          const script = answering(answersWithUsage[vendor](usage, words), stream);
          const caller = stream ? vendor : "chat";
          const response = await service.call({ caller, vendor, stream, script });
          await response.text();
          const id = response.headers.get("x-transaction-id")!;
          calls.push({ id, vendor, input, output, words });
        }
      }
    }
  }
  const rows = await service.rows();
  const byId = new Map(rows.map((row) => [row.transaction_id, row]));
  const unfair = calls.filter((call) => !isBilled(call, byId.get(call.id)!));
  assert.deepEqual(unfair.map((call) => [call, byId.get(call.id)]), []);
  assert.equal(rows.length, calls.length);
  const charged = rows.reduce((sum, row) => sum + nanosOf(row.charged_usd), 0n);
  assert.equal(await service.spentNanos(), charged);
});

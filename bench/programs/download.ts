/**
 * Reads an export of all rows as it is written, and prints how many rows and bytes it had. Rows are
 * lines: what `fill` and the bench's payloads write has no line feeds within.
 */
const { BASE_URL, KEY, FORMAT, PAYLOADS } = Deno.env.toObject();
const answer = await fetch(`${BASE_URL}/api/v1/exports`, {
  method: "POST",
  headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
  body: JSON.stringify({
    start_date: "2000-01-01T00:00:00Z",
    format: FORMAT,
    delivery: "stream",
    ...(PAYLOADS === "no" ? { payloads: false } : {}),
  }),
});
if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
let bytes = 0;
let lines = 0;
for await (const piece of answer.body!) {
  bytes += piece.length;
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
}
// The head of CSV; the lines of the array's brackets.
console.log(JSON.stringify({ bytes, rows: lines - (FORMAT === "csv" ? 1 : 2) }));

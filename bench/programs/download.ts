/**
 * Reads an export of all rows as it is written, and prints how many rows and bytes it had. A row is
 * a line, since the data of `fill` and of the bench's payloads has no line feeds.
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
// Without the head of CSV, or the two lines of the JSON array's brackets.
console.log(JSON.stringify({ bytes, rows: lines - (FORMAT === "csv" ? 1 : 2) }));

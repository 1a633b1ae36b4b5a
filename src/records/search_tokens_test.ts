import assert from "@std/assert";
import { searchKeys, searchTerms, spanMs, spanOf, termKeys } from "./search_tokens.ts";

const call = { accountId: 1, createdAt: new Date("2026-11-21T09:00:00Z") };
const span = spanOf(call.createdAt);

function finds(search: string, ...payloads: (string | null)[]): boolean {
  const keys = new Set(searchKeys(call, payloads));
  const { tokens } = searchTerms(search);
  return tokens.length > 0 &&
    tokens.every((word) => termKeys(1, [span], word).some((key) => keys.has(key)));
}

const said = (content: string) => JSON.stringify({ messages: [{ role: "user", content }] });

Deno.test("words of request and answer are found, whatever their case", () => {
  const payloads = [said("Where is order INV-2381,\nplease?"), said("On its\tWAY")];
  for (const search of ["order", "ORDER inv-2381", "please way", "2381"]) {
    assert.ok(finds(search, ...payloads), search);
  }
  for (const search of ["ord", "orders", "order missing", "", "—"]) {
    assert.ok(!finds(search, ...payloads), search);
  }
});

Deno.test("names of members and media are not indexed as words", () => {
  assert.ok(!finds("messages", said("hello")));
  assert.ok(!finds("aaaa", said(`data:image/png;base64,${"aaaa/".repeat(1000)}`)));
});

Deno.test("letters of all scripts are found, escaped or not", () => {
  const escaped = '{"content":"Gr\\u00fc\\u00dfe aus M\\u00fcnchen \\ud83d\\ude00, caf\\u0065"}';
  for (const text of [said("Grüße aus München 😀, cafe"), escaped]) {
    for (const search of ["grüße", "MÜNCHEN", "cafe"]) assert.ok(finds(search, text), search);
  }
  assert.ok(finds("Gruß", said("Der Gruß.")));
  assert.ok(finds("привет", said("Привет, мир")));
});

Deno.test("a few other characters change nothing for the ASCII around them", () => {
  const odd: [string, string[]][] = [
    ["don’t", ["don", "t"]],
    ["x—y/z", ["x", "y", "z"]],
    // The mark belongs to the sign before it, so there's no word.
    ["<\u0338", []],
    ["=\u0338 a\u0301b", ["áb"]],
    // Its last letter is not the end of a word: the dot doesn't count.
    ["ΟΔΟΣ.x", ["οδοσ", "x"]],
    ["ﬁn…", ["fin"]],
    ["😀", []],
  ];
  const plain = "Plain words, as long as those that are read by themselves: seventy characters. ";
  const plainWords = plain.toLowerCase().match(/[a-z]+/g)!;
  for (const between of [" ", "\n", ` ${plain}`, ` ${plain}${plain}`]) {
    const text = odd.map(([written]) => written).join(between) + between;
    const words = [...odd.flatMap(([, some]) => some), ...between.length > 1 ? plainWords : []];
    const keys = words.map((word) => termKeys(call.accountId, [span], word)[0]!);
    for (const payload of [JSON.stringify([text]), text]) {
      assert.deepEqual(new Set(searchKeys(call, [payload])), new Set(keys), between);
    }
  }
});

Deno.test("writing without blanks is found by its signs", () => {
  const text = said("请告诉我关于LLM网关的事情。これはテストです");
  for (const search of ["网关", "告诉我", "LLM", "テスト"]) assert.ok(finds(search, text), search);
  assert.ok(!finds("关网", text));
});

Deno.test("a cut payload is found by its words, and a large one by those at both ends", () => {
  assert.ok(finds("begins", '{"content":"it begins here and en'));
  assert.ok(finds("begins", '{"content":"ü it begins \\u00'));
  const large = said(`alpha ${"filler ".repeat(100_000)} omega`);
  for (const search of ["alpha", "omega", "filler"]) assert.ok(finds(search, large), search);
  assert.ok(finds("plain words", "plain words, no JSON"));
});

Deno.test("a key is of its account, its span and its word alone", () => {
  const keys = new Set<number>();
  for (const account of [1, 2, 3]) {
    for (const span of [0, 1, 2, 123_000]) {
      for (let n = 0; n < 5000; n++) keys.add(termKeys(account, [span], `word${n}`)[0]!);
    }
  }
  assert.equal(keys.size, 3 * 4 * 5000);
  for (const key of keys) assert.ok(Number.isSafeInteger(key) && key >= 0);
  const next = { ...call, createdAt: new Date(call.createdAt.getTime() + spanMs) };
  assert.notDeepEqual(searchKeys(next, [said("x")]), searchKeys(call, [said("x")]));
});

Deno.test("a call's keys are those of its words, each once, in the words' order", () => {
  for (const count of [1, 127, 128, 129, 600, 4000]) {
    const words = Array.from({ length: count }, (_, n) => `w${n * 7919 % count}`);
    const text = [...words, ...words.toReversed()].join(" ");
    const keys = words.map((word) => termKeys(call.accountId, [span], word)[0]);
    assert.equal(new Set(keys).size, count);
    assert.deepEqual(searchKeys(call, [JSON.stringify([text]), text]), keys);
  }
});

Deno.test("one call has no more keys than people have words", () => {
  const words = Array.from({ length: 20_000 }, (_, n) => `w${n}`).join(" ");
  for (const text of [words, words.replaceAll("w", "ü")]) {
    assert.equal(searchKeys(call, [said(text)]).length, 4000);
  }
});

Deno.test("what stands in quotes is a phrase, if it is more than a word", () => {
  assert.deepEqual(searchTerms('the "order is late" "now"'), {
    tokens: ["the", "order", "is", "late", "now"],
    phrases: ["order is late"],
  });
  // In a script without spaces, the pairs of a phrase might be anywhere.
  assert.deepEqual(searchTerms('"東京" "東京都" "K京"').phrases, ["東京都", "K京"]);
});

import assert from "@std/assert";
import { readCitations } from "./grounding.ts";

Deno.test("passages that name all sources, over and over, are read up to the limit of an answer", () => {
  const candidate = {
    groundingMetadata: {
      groundingChunks: Array.from({ length: 1000 }, (_, at) => ({
        web: { uri: `https://a.example/${at}` },
      })),
      groundingSupports: Array.from({ length: 1000 }, () => ({
        segment: { endIndex: 3 },
        groundingChunkIndices: [...Array(1000).keys()],
      })),
    },
  };
  const citations = readCitations(candidate, "abc");
  // One more, which tells that there are too many.
  assert.equal(citations.length, 20_001);
  assert.deepEqual(citations.at(-1), {
    ...{ url: "https://a.example/0", title: undefined },
    ...{ start: 0, end: 3 },
  });
});

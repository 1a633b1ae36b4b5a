/** What the story says when all is well, wherever it runs. */
export const told: readonly string[] = [
  "models: vendor-a vendor-b vendor-c vendor-d vendor-e vendor-f vendor-g",
  "whole: Hello.",
  "streams: Streams of all dialects.",
  "family: Own family.",
  "media: unfinished 0, picture, speech, transcript",
  "failures: invalid_value",
  "errorsInStreams: upstream_overloaded upstream_stream_truncated",
  "leaving: after 3 chunks",
  "retried: At last.",
  "lostAnswer: 1 row",
  "exported: the same rows",
];

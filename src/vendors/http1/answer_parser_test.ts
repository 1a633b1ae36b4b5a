import assert from "@std/assert";
import { AnswerParser, NotHttp } from "./answer_parser.ts";
import { MalformedRequest, writeRequestHead } from "./request_head.ts";

const encode = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

interface Heard {
  heads: [status: number, headers: Record<string, string>][];
  body: string;
  isWhole: boolean;
  code?: string;
  keepsOpen: boolean;
}

/** Reads one answer that comes in pieces of this size. */
function read(text: string, { size = text.length, isHead = false, closes = false } = {}): Heard {
  const heard: Heard = { heads: [], body: "", isWhole: false, keepsOpen: false };
  const parser = new AnswerParser({
    head: (status, headers) => void heard.heads.push([status, headers]),
    data: (piece) => heard.body += String.fromCharCode(...piece),
    end: () => heard.isWhole = true,
  });
  parser.begin(isHead);
  try {
    for (let at = 0; at < text.length; at += size) parser.push(encode(text.slice(at, at + size)));
    if (closes) parser.finish();
  } catch (thrown) {
    if (!(thrown instanceof NotHttp)) throw thrown;
    heard.code = thrown.code;
  }
  heard.keepsOpen = parser.keepsOpen;
  return heard;
}

const ok = "HTTP/1.1 200 OK\r\n";

Deno.test("an answer is the same in whatever pieces it comes", () => {
  const answers = [
    `${ok}content-length: 5\r\nX-A:  b \r\n\r\nhello`,
    `\r\n${ok}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nt: x\r\n\r\n`,
    `HTTP/1.1 103 Early\r\nlink: a\r\n\r\n${ok}set-cookie: a\r\nset-cookie: b\r\n\r\nhello`,
  ];
  for (const answer of answers) {
    const whole = read(answer, { closes: true });
    assert.equal(whole.body, "hello", answer);
    assert.equal(whole.isWhole, true, answer);
    for (const size of [1, 2, 3, 7]) {
      assert.deepEqual(read(answer, { size, closes: true }), whole, `${size} of ${answer}`);
    }
  }
  assert.deepEqual(read(answers[2]!).heads.at(-1), [200, { "set-cookie": "a, b" }]);
});

Deno.test("whether the connection is kept, and for how long", () => {
  const kept = (head: string, more = {}) =>
    read(`${head}\r\n`, { closes: true, ...more }).keepsOpen;
  const empty = "content-length: 0\r\n";
  assert.equal(kept(`${ok}${empty}`), true);
  assert.equal(kept(`${ok}${empty}Connection: Close\r\n`), false);
  assert.equal(kept(`${ok}${empty}connection: x, close\r\n`), false);
  assert.equal(kept(`HTTP/1.0 200 OK\r\n${empty}`), false);
  assert.equal(kept(`HTTP/1.0 200 OK\r\n${empty}connection: keep-alive\r\n`), true);
  assert.equal(kept(ok), false, "its end is the body's");
  assert.equal(kept("HTTP/1.1 204 No\r\n"), true);
  assert.equal(kept("HTTP/1.1 204 No\r\ncontent-length: 5\r\n"), false, "a body may follow");
  assert.equal(kept(`${ok}content-length: 5\r\n`, { isHead: true }), true);
  assert.equal(kept(`${ok}content-length: 5\r\n`), false, "in the middle of its body");
  const parser = new AnswerParser({ head() {}, data() {}, end() {} });
  parser.begin(false);
  parser.push(encode(`${ok}${empty}keep-alive: max=9, timeout=5\r\n\r\n`));
  assert.equal(parser.idleSeconds, 5);
});

Deno.test("what could be read in two ways is refused", () => {
  const refused: Record<string, string[]> = {
    http_status_line: [
      ...["HTTP/1.1 20 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n"],
      ...["HTTP/1.1 200\tOK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "SSH-2.0", " HTTP/1.1 200 OK\r\n"],
      ...["HTTP/1.1 200 O\rK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n"],
    ],
    http_header: [
      ...[
        "a : b\r\n",
        " a: b\r\n",
        "a: b\r\n c\r\n",
        ": b\r\n",
        "a\r\n",
        "a: b\0\r\n",
        "a: b\rc\r\n",
      ],
      ...["a: b\n", "a(b): c\r\n", "a: b\x7f\r\n"],
    ].map((field) => `${ok}${field}\r\n`),
    http_framing: [
      ...["content-length: 5\r\ncontent-length: 5\r\n", "content-length: +5\r\n"],
      ...["content-length: 5, 5\r\n", "content-length: 0x5\r\n", "content-length:\r\n"],
      ...["content-length: 5\r\ntransfer-encoding: chunked\r\n", "content-length: 5 \t5\r\n"],
      ...["transfer-encoding: gzip, chunked\r\n", "transfer-encoding: chunked, chunked\r\n"],
      ...["transfer-encoding: identity\r\n", "content-length: 9999999999999999\r\n"],
    ].map((fields) => `${ok}${fields}\r\n`).concat(
      ...["HTTP/1.1 101 Up\r\nupgrade: x\r\n\r\n", "HTTP/1.0 100 Continue\r\n\r\n"],
    ),
    http_chunk: [
      ...["x\r\n", "\r\n", ";a\r\n", "5 \r\nhello\r\n", "-1\r\n", "0x5\r\n", "5\nhello\r\n"],
      ...[
        "5\r\nhello!\r\n",
        "5\r\nhello\n",
        "5;a\0\r\n",
        "5\rx",
        "10000000000000\r\n",
        "5;a\nb\r\n",
      ],
    ].map((chunks) => `${ok}transfer-encoding: chunked\r\n\r\n${chunks}`),
    http_overflow: [
      `${ok}a: ${"b".repeat(16 * 1024)}\r\n\r\n`,
      `${ok}${"a: b\r\n".repeat(20_000)}`,
      `${ok}a: ${"b".repeat(70_000)}`,
      `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(20_000)}`,
      `${ok}transfer-encoding: chunked\r\n\r\n5;${"a".repeat(20_000)}`,
    ],
    http_stray: [
      ...[`${ok}content-length: 0\r\n\r\nx`, `${ok}content-length: 0\r\n\r\n${ok}`],
      `${ok}transfer-encoding: chunked\r\n\r\n0\r\n\r\n0\r\n\r\n`,
    ],
  };
  for (const [code, answers] of Object.entries(refused)) {
    for (const answer of answers) {
      for (const size of [answer.length, 1]) {
        // Byte by byte, an endless line is scanned from its start each time.
        if (size === 1 && answer.length > 50_000) continue;
        assert.equal(read(answer, { size }).code, code, JSON.stringify(answer.slice(0, 200)));
      }
    }
  }
});

Deno.test("line ends behind an answer are nobody's, and so is all behind the last one", () => {
  assert.equal(read(`${ok}content-length: 0\r\n\r\n\r\n\r\n`).keepsOpen, true);
  const last = read(`${ok}connection: close\r\ncontent-length: 2\r\n\r\nok${ok}`);
  assert.deepEqual([last.body, last.isWhole, last.code], ["ok", true, undefined]);
});

Deno.test("only an answer that goes on until the end is ended by it", () => {
  assert.equal(read(`${ok}\r\nabc`, { closes: true }).isWhole, true);
  for (const cut of [ok, `${ok}content-length: 5\r\n\r\nabc`, ""]) {
    assert.equal(read(cut, { closes: true }).isWhole, false, cut);
  }
  const half = `${ok}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`;
  assert.equal(read(half, { closes: true }).isWhole, false);
  assert.equal(read(`${half}0\r\n`, { closes: true }).isWhole, false, "without its last line");
});

Deno.test("a header named 'constructor' is read like others, and of a repeated content type the first counts", () => {
  const { heads } = read(
    `${ok}constructor: a\r\nconstructor: b\r\nContent-Type: a\r\ncontent-type: b\r\n\r\n`,
  );
  const headers = heads[0]?.[1] ?? {};
  assert.equal(headers["constructor"], "a, b");
  assert.equal(headers["content-type"], "a");
});

Deno.test("a request that could be read as two is not written", () => {
  const head = { method: "POST", path: "/a?b", host: "h", headers: {}, keeps: true };
  const text = writeRequestHead({ ...head, headers: { "x-a": "é" } });
  assert.equal(text, "POST /a?b HTTP/1.1\r\nhost: h\r\nconnection: keep-alive\r\nx-a: é\r\n\r\n");
  const odd = [
    ...[{ method: "P T" }, { method: "" }, { path: "a" }, { path: "/a b" }, { path: "/a\r\nb" }],
    ...[{ headers: { "a b": "c" } }, { headers: { a: "b\r\nc: d" } }, { headers: { a: "b\0" } }],
    ...[{ headers: { "": "a" } }, { headers: { a: "→" } }],
  ];
  for (const more of odd) {
    const write = () => writeRequestHead({ ...head, ...more });
    assert.throws(write, MalformedRequest, JSON.stringify(more));
  }
});

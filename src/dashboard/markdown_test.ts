import assert from "@std/assert";
import process from "node:process";
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";
import { Random } from "../../tests/support/random.ts";
import { markdownHtml } from "./markdown.ts";

type Node = DefaultTreeAdapterTypes.ChildNode;

/** Every element of a text's HTML, as a browser reads it. */
function elements(text: string): DefaultTreeAdapterTypes.Element[] {
  const found: DefaultTreeAdapterTypes.Element[] = [];
  const look = (nodes: readonly Node[]) => {
    for (const node of nodes) {
      if ("tagName" in node) found.push(node);
      if ("childNodes" in node) look(node.childNodes);
    }
  };
  look(parseFragment(markdownHtml(text) ?? "").childNodes);
  return found;
}

const names = (text: string) => elements(text).map(({ tagName }) => tagName);

Deno.test("lists, code, tables and emphasis become elements", () => {
  assert.deepEqual(names("# Plan\n\n1. *one*\n2. **two**\n\n> quoted\n\n~~gone~~ `code`"), [
    ...["h3", "ol", "li", "em", "li", "strong", "blockquote", "p", "p", "s", "code"],
  ]);
  assert.deepEqual(names("```js\nconst a = 1 < 2;\n```"), ["pre", "code"]);
  assert.match(markdownHtml("```js\nconst a = 1 < 2;\n```")!, /const a = 1 &lt; 2;<\/code>/);
  const table = "| a | b |\n| - | -: |\n| 1 | 2 |";
  assert.deepEqual(names(table), [
    ...["div", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"],
  ]);
  assert.match(markdownHtml(table)!, /<td class="align-right">2<\/td>/);
  assert.match(markdownHtml("one\ntwo")!, /one<br>\s*two/, "line ends stay");
});

/** What somebody who can have a model say a text would have it say. */
const hostile = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<a href=javascript:alert(1)>x</a>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\nscript:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](\u0001javascript:alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[x](vbscript:msgbox(1))",
  "[x](file:///etc/passwd)",
  "[x](/dashboard/settings/people)",
  "[x](//example.com)",
  "[x]: javascript:alert(1)\n\n[x]",
  "<javascript:alert(1)>",
  '[x](https://example.com" onmouseover="alert(1))',
  '[x](https://example.com "t\\" onmouseover=\\"alert(1)")',
  "![x](https://example.com/pixel.png)",
  '![x](https://example.com/" onerror="alert(1))',
  "![x](javascript:alert(1))",
  "```</code></pre><script>alert(1)</script>\nx\n```",
  '```js" onload="alert(1)\nx\n```',
  "`</code><script>alert(1)</script>`",
  "| <script>alert(1)</script> |\n| - |\n| <img src=x onerror=alert(1)> |",
  "# <style>*{display:none}</style>",
  "</div></article><form action=https://example.com><input name=csrf>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "<!--",
  "<![CDATA[",
  "\u2028<\u0000script>",
];

const allowed: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ["p", "br", "em", "strong", "s", "h3", "ul", "li", "hr", "blockquote", "code"].map((
      name,
    ) => [name, []]),
  ),
  ...{ a: ["href", "title", "rel", "target"], ol: ["start"] },
  ...{ pre: ["class", "tabindex", "aria-label"], div: ["class", "tabindex", "role", "aria-label"] },
  ...{ table: ["aria-label"], thead: [], tbody: [], tr: [], th: ["class"], td: ["class"] },
};

function assertHarmless(text: string): void {
  for (const { tagName, attrs } of elements(text)) {
    assert.ok(allowed[tagName] !== undefined, `${tagName} out of ${JSON.stringify(text)}`);
    for (const { name, value } of attrs) {
      assert.ok(allowed[tagName]!.includes(name), `${tagName} ${name} of ${JSON.stringify(text)}`);
      if (name === "href") assert.match(value, /^(https?:\/\/|mailto:)/i, JSON.stringify(text));
    }
  }
}

Deno.test("hostile texts make no element that acts, loads or leads into the dashboard", () => {
  for (const text of hostile) assertHarmless(text);
});

Deno.test("nor do random mixtures of them", () => {
  const random = new Random(20261123);
  const marks = [
    "\n",
    "\n\n",
    "> ",
    "- ",
    "1. ",
    "`",
    "```\n",
    "*",
    "**",
    "|",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
  ];
  for (let round = 0; round < 3000; round++) {
    const parts = Array.from({ length: 1 + random.below(8) }, () => {
      const text = random.pick(hostile);
      const from = random.below(text.length);
      return random.pick([text, text.slice(from), text.slice(0, from), random.pick(marks)]);
    });
    assertHarmless(parts.join(random.pick(["", "", " ", "\n"])));
  }
});

Deno.test("no text takes long, and a very long one is left as it is", () => {
  assert.equal(markdownHtml("x".repeat(100_001)), undefined);
  const repeated = [
    ...["*", "_", "**a ", "*a_ ", "`", "a`", "[", "]", "[a](", "![", "<", "<a ", "&", "&#", "\\"],
    ...["> ", ">", "- ", "1. ", "- - ", "#", "# ", "|", "|-", "| a ", "|-|\n", "\n", "  \n", "\t"],
    ...["~~", "~~a ", "```\n", "~~~\n", "---\n", "a\n===\n", "[a]: b\n", "[a][b]", "[a]", "(", ")"],
    ...["https://", "<https://a", "<!--", "<?", "<![CDATA[", "a**b", "*a **a ", "a | b\n"],
  ];
  for (const part of repeated) {
    const text = part.repeat(Math.floor(32_000 / part.length));
    const before = process.threadCpuUsage();
    markdownHtml(text);
    const { user } = process.threadCpuUsage(before);
    assert.ok(user < 1_500_000, `${JSON.stringify(part)}: ${user} µs`);
  }
});

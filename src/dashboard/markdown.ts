import MarkdownIt from "markdown-it";

/** Longer texts are shown as they are: nobody reads them, and a page of them takes long to make. */
const maxChars = 32_000;

/**
 * HTML of a text in Markdown as models write it: CommonMark with tables, struck-out words and line ends
 * that stay. It may be of anybody: HTML in it is shown as text, a link leads to the web or to mail and
 * nowhere in the dashboard, and no picture is loaded, since whoever answers for its address would
 * learn of the reader. Undefined for a text that is too long.
 */
export function markdownHtml(text: string): string | undefined {
  return text.length > maxChars ? undefined : markdown.render(text);
}

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: true, maxNesting: 20 });
// What is left of `![name](address)` is a link.
markdown.disable("image");
markdown.validateLink = (address) => /^(https?:\/\/|mailto:)/i.test(address.trim());

const { rules } = markdown.renderer;
const escaped = (text: string) => markdown.utils.escapeHtml(text);

rules.fence = rules.code_block = (tokens, at) =>
  `<pre class="said-code" tabindex="0" aria-label="Code"><code>${
    escaped(tokens[at]!.content.replace(/\n$/, ""))
  }</code></pre>\n`;

rules.link_open = (tokens, at, options, _env, renderer) => {
  const token = tokens[at]!;
  // `[name]()` leads nowhere.
  if (token.attrGet("href") === "") return "<a>";
  token.attrSet("rel", "noopener noreferrer nofollow");
  // The conversation is on this page alone.
  token.attrSet("target", "_blank");
  return renderer.renderToken(tokens, at, options);
};

// Below the page's own, whatever level a model begins with.
rules.heading_open = () => "<h3>";
rules.heading_close = () => "</h3>\n";

rules.table_open = () =>
  '<div class="said-table" tabindex="0" role="group" aria-label="Table"><table>\n';
rules.table_close = () => "</table></div>\n";

rules.th_open = rules.td_open = (tokens, at, options, _env, renderer) => {
  const token = tokens[at]!;
  // The page's policy allows no style of an element's own.
  const align = /text-align:(center|right)/.exec(String(token.attrGet("style")))?.[1];
  token.attrs = align === undefined ? null : [["class", `align-${align}`]];
  return renderer.renderToken(tokens, at, options);
};

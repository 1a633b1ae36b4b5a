import MarkdownIt from "markdown-it";

/** Longer texts are shown unformatted: nobody reads them, and formatting them takes long. */
const maxChars = 32_000;

/**
 * Renders Markdown as models write it, CommonMark with tables, strikethrough and hard line breaks,
 * to HTML. The text isn't trusted: HTML in it is shown as text, links lead only to the web or to
 * mail and never into the dashboard, and no image is loaded, since its host would learn of the
 * reader. Undefined for a text that is too long.
 */
export function markdownHtml(text: string): string | undefined {
  return text.length > maxChars ? undefined : markdown.render(text);
}

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: true, maxNesting: 20 });
// `![name](address)` becomes a link.
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
  // In a new tab: leaving this page would lose the conversation.
  token.attrSet("target", "_blank");
  return renderer.renderToken(tokens, at, options);
};

// Every heading is an `h3`, below the page's own headings, whatever level a model begins with.
rules.heading_open = () => "<h3>";
rules.heading_close = () => "</h3>\n";

rules.table_open = () =>
  '<div class="said-table" tabindex="0" role="group" aria-label="Table"><table aria-label="In the answer">\n';
rules.table_close = () => "</table></div>\n";

rules.th_open = rules.td_open = (tokens, at, options, _env, renderer) => {
  const token = tokens[at]!;
  // The page's content policy forbids style attributes.
  const align = /text-align:(center|right)/.exec(String(token.attrGet("style")))?.[1];
  token.attrs = align === undefined ? null : [["class", `align-${align}`]];
  return renderer.renderToken(tokens, at, options);
};

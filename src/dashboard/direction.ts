const control = /[\u202a-\u202e\u2066-\u2069]/;

const tagOrControl = /<[^<>]*>|[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A page on which nothing that somebody sent turns the direction of text: a name could read as
 * another one, and what stands behind it backwards. A control of direction stands alone in an element,
 * beyond which it turns nothing, and its number beside it (`style.css`); what is copied is the same.
 */
export function showDirectionControls(html: string): string {
  if (!control.test(html)) return html;
  // What is in these holds no elements.
  let isPlain = false;
  return html.replace(tagOrControl, (found) => {
    const [, end, name] = /^<(\/?)([a-z]+)/.exec(found) ?? [];
    if (name === "textarea" || name === "title") isPlain = end === "";
    if (isPlain || found.startsWith("<")) return found;
    const code = found.charCodeAt(0).toString(16).toUpperCase();
    return `<bdi class="control" data-code="U+${code}">${found}</bdi>`;
  });
}

/**
 * Whether a path can be appended to this http or https URL: one with a query or a fragment would
 * take the path into it. Credentials aren't sent, so there may be none.
 */
export function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(text) &&
    url.username === "" && url.password === "";
}

export const baseUrlForm =
  "a URL such as https://api.example.com, without credentials, query or fragment";

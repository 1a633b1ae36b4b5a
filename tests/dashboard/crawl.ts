import { type DefaultTreeAdapterTypes, parse } from "parse5";
import type { Answer, BrowserClient } from "../support/browser_client.ts";

/** A page as it was found. */
export interface CrawledPage {
  /** Path and query. */
  address: string;
  answer: Answer;
  elements: readonly Element[];
  forms: readonly CrawledForm[];
  /** What a parser of HTML had to correct. */
  mistakes: readonly string[];
}

/** A form that posts. */
export interface CrawledForm {
  page: string;
  action: string;
  fields: Readonly<Record<string, string>>;
  /** What a screen reader reads of its buttons and labels. */
  controls: readonly string[];
}

type Element = DefaultTreeAdapterTypes.Element;

/**
 * Follows every link from a page on, as long as it stays in the dashboard. Lists of which only the
 * values of the query differ count once for each set of names.
 */
export async function crawl(browser: BrowserClient, start: string): Promise<CrawledPage[]> {
  const pages: CrawledPage[] = [];
  const seen = new Set<string>();
  const open = [start];
  for (let address = open.pop(); address !== undefined; address = open.pop()) {
    const kind = kindOf(browser, address);
    if (seen.has(kind)) continue;
    seen.add(kind);
    const page = readPage(browser, address, await browser.get(address));
    pages.push(page);
    if (page.answer.location !== undefined) open.push(page.answer.location);
    for (const link of linksOf(browser, page)) open.push(link);
  }
  return pages;
}

function kindOf(browser: BrowserClient, address: string): string {
  const { pathname, searchParams } = new URL(address, browser.baseUrl);
  return `${pathname}?${[...new Set(searchParams.keys())].sort().join("&")}`;
}

/** A page by its address alone, which no link may lead to. */
export async function visit(browser: BrowserClient, address: string): Promise<CrawledPage> {
  return readPage(browser, address, await browser.get(address));
}

function readPage(browser: BrowserClient, address: string, answer: Answer): CrawledPage {
  const isHtml = answer.headers.get("content-type")?.startsWith("text/html") ?? false;
  const mistakes: string[] = [];
  const tree = parse(isHtml ? answer.text : "", {
    sourceCodeLocationInfo: true,
    onParseError: (error) => isHtml && mistakes.push(`${error.code} in line ${error.startLine}`),
  });
  const elements = elementsOf(tree);
  const forms = elements.filter((one) =>
    one.tagName === "form" && attribute(one, "method")?.toLowerCase() === "post"
  ).map((form) => {
    const action = new URL(attribute(form, "action") ?? address, browser.baseUrl + address);
    const inputs = elementsOf(form).filter(({ tagName }) => tagName === "input");
    const fields = inputs.map((one) => [attribute(one, "name"), attribute(one, "value") ?? ""]);
    const controls = elementsOf(form).filter(({ tagName }) => /^(button|label)$/.test(tagName));
    return {
      page: address,
      controls: controls.map((one) => textOf(one).trim()),
      action: action.pathname + action.search,
      fields: Object.fromEntries(fields.filter(([name]) => name !== undefined)),
    };
  });
  return { address, answer, elements, forms, mistakes };
}

export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((one) => one.name === name)?.value;
}

/** The text that a screen reader reads of an element. */
export function textOf(element: Element): string {
  return element.childNodes.map((child) =>
    "value" in child ? child.value : "tagName" in child ? textOf(child) : ""
  ).join("");
}

function elementsOf(node: DefaultTreeAdapterTypes.ParentNode): Element[] {
  return node.childNodes.flatMap((child) =>
    "tagName" in child ? [child, ...elementsOf("content" in child ? child.content : child)] : []
  );
}

function linksOf(browser: BrowserClient, page: CrawledPage): string[] {
  return page.elements.flatMap((element) => {
    const href = element.tagName === "a" ? attribute(element, "href") : undefined;
    if (href === undefined) return [];
    const url = new URL(href, browser.baseUrl + page.address);
    const isOurs = url.origin === browser.baseUrl && /^\/dashboard(\/|$)/.test(url.pathname);
    return isOurs ? [url.pathname + url.search] : [];
  });
}

/**
 * Addresses that the vendor takes as they are: files in its own keeping, and videos that it fetches
 * itself. Media at any other address must be sent as data (translation.md §11).
 */
export function staysAddress(url: string): boolean {
  return isOwnFile(url) || isVideoAddress(url);
}

export function isOwnFile(uri: string): boolean {
  return uri.startsWith("gs://") ||
    /^https:\/\/generativelanguage\.googleapis\.com\/(.*\/)?files\//.test(uri);
}

export function isVideoAddress(url: string): boolean {
  return /^https:\/\/(www\.|m\.)?(youtube\.com\/|youtu\.be\/)/.test(url);
}

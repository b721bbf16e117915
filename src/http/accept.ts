/** Which form of an answer its caller would rather have, by the header `Accept`. Nobody is refused for it: there is always the usual form. */

interface Accepted {
  readonly type: string;
  readonly quality: number;
}

function acceptedIn(header: string): Accepted[] {
  return header.split(",").map((part) => {
    const [type = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    return { type, quality: Number.isFinite(quality) ? quality : 0 };
  });
}

/** Whether a way of encoding is named, and not refused. */
export const accepts = (header: string | undefined, encoding: string): boolean =>
  header !== undefined && acceptedIn(header).some(({ type, quality }) => type === encoding && quality > 0);

/** Whether a media type is wanted more than each of the usual ones that are named. A wildcard names nothing. */
export function prefers(header: string | undefined, type: string, usual: readonly string[]): boolean {
  if (header === undefined) return false;
  const accepted = acceptedIn(header);
  const wanted = accepted.find((each) => each.type === type)?.quality ?? 0;
  return wanted > 0 && !accepted.some((each) => usual.includes(each.type) && each.quality >= wanted);
}

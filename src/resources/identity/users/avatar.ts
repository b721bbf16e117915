/** Pictures of users. The service keeps none and asks no other host for any: each is made from the user's id. */

/** The same for the same id, for ever: a square in one colour, as a `data:` URL. */
export function avatarOf(id: string): string {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 0);
  const fill = `hsl(${hue},55%,45%)`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="${fill}" d="M0 0h1v1H0z"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(picture)}`;
}

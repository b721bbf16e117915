/** Reduces a screenshot to at most 256 colours, which changes only the edges of letters: less than half the bytes. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue, row by row. */
  readonly pixels: Uint8Array;
}

/** Reads a PNG as browsers write it: eight bits, with or without transparency, not interlaced. */
function decode(png: Buffer): Picture {
  let [width, height, samples] = [0, 0, 0];
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 8, at + 8 + length);
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      samples = { 2: 3, 6: 4 }[body[9]!] ?? 0;
      if (body[8] !== 8 || samples === 0 || body[12] !== 0) throw new Error("not a PNG as browsers write it");
    }
    if (type === "IDAT") parts.push(body);
    at += length + 12;
  }
  const rows = unfilter(inflateSync(Buffer.concat(parts)), width * samples, height, samples);
  const pixels = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let part = 0; part < 3; part++) pixels[pixel * 3 + part] = rows[pixel * samples + part]!;
  return { width, height, pixels };
}

function unfilter(raw: Uint8Array, stride: number, height: number, samples: number): Uint8Array {
  const rows = new Uint8Array(stride * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (stride + 1)]!;
    for (let column = 0; column < stride; column++) {
      const to = row * stride + column;
      const left = column >= samples ? rows[to - samples]! : 0;
      const up = row > 0 ? rows[to - stride]! : 0;
      const corner = row > 0 && column >= samples ? rows[to - stride - samples]! : 0;
      rows[to] = raw[row * (stride + 1) + 1 + column]! + guess(filter, left, up, corner);
    }
  }
  return rows;
}

function guess(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
}

type Colour = readonly [number, number, number];

/** The most frequent colours, without near duplicates; and the nearest of them for any colour. */
function paletteOf(pixels: Uint8Array): { colours: Colour[]; nearest: (colour: Colour) => number } {
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 3) {
    const key = (pixels[at]! << 16) | (pixels[at + 1]! << 8) | pixels[at + 2]!;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const alike = new Map<number, number>();
  for (const [key] of [...counts].sort((a, b) => b[1] - a[1])) {
    const coarseColour = key & 0xf8f8f8;
    if (!alike.has(coarseColour)) alike.set(coarseColour, key);
  }
  const colours = [...alike.values()].slice(0, 256).map((key): Colour => [key >> 16, (key >> 8) & 255, key & 255]);
  const known = new Map<number, number>();
  const nearest = ([red, green, blue]: Colour): number => {
    const key = (red << 16) | (green << 8) | blue;
    const before = known.get(key);
    if (before !== undefined) return before;
    const far = colours.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
    const best = far.indexOf(Math.min(...far));
    known.set(key, best);
    return best;
  };
  return { colours, nearest };
}

export function toPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const { colours, nearest } = paletteOf(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) {
      const from = (row * width + column) * 3;
      rows[row * (width + 1) + 1 + column] = nearest([pixels[from]!, pixels[from + 1]!, pixels[from + 2]!]);
    }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(colours.flat())),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A box of the map. Boxes of a column keep the order in which they are given. */
export interface Box {
  readonly id: string;
  /** The frame around it: its server. */
  readonly frame: string;
  /** The leftmost column in which it may be. */
  readonly rank: number;
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
}

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly frames: ReadonlyMap<string, Rectangle>;
  readonly boxes: ReadonlyMap<string, Rectangle>;
  /** Paths of SVG, in the order of the arrows. */
  readonly paths: readonly string[];
}

export const BOX_HEIGHT = 64;
const BOX_WIDTH = { min: 80, usual: 190, max: 320 };
const BETWEEN = { columns: 64, rows: 14, frames: 20 };
const FRAME = { padding: 14, title: 34 };
const HEAD = { length: 7, halfWidth: 4 };

/**
 * Places what uses something to the left of what it uses, within frames that are one below the other. The same input
 * always gives the same map. On narrow screens the last columns become one.
 *
 * @param width Space in pixels, which the map fits into from about 140 pixels on.
 */
export function layoutOf(boxes: readonly Box[], arrows: readonly Arrow[], width: number): Layout {
  const known = new Set(boxes.map(({ id }) => id));
  const drawn = arrows.map((arrow) => (known.has(arrow.from) && known.has(arrow.to) ? arrow : undefined));
  // Arrows within a column run beside it, where they need space.
  const gutter = BETWEEN.columns / 2;
  const inner = width - 2 * FRAME.padding - gutter;
  const columnsMax = Math.max(1, Math.floor((inner + BETWEEN.columns) / (BOX_WIDTH.usual + BETWEEN.columns)));
  const columnOf = columnsOf(boxes, drawn.filter(isKnown), columnsMax);
  const columns = Math.max(0, ...columnOf.values()) + 1;
  const boxWidth = within(BOX_WIDTH, Math.floor((inner - (columns - 1) * BETWEEN.columns) / columns));
  const frameWidth = Math.max(width, 2 * FRAME.padding + BOX_WIDTH.min + gutter);

  const frames = new Map<string, Rectangle>();
  const placed = new Map<string, Rectangle>();
  let y = 0;
  for (const [frame, own] of Map.groupBy(boxes, (box) => box.frame)) {
    const rows = rowsOf(own, drawn.filter(isKnown), columnOf);
    const rowCount = Math.max(...[...rows.values()].map((row) => row + 1));
    for (const { id } of own) {
      const column = columnOf.get(id) ?? 0;
      placed.set(id, {
        x: FRAME.padding + column * (boxWidth + BETWEEN.columns),
        y: y + FRAME.title + (rows.get(id) ?? 0) * (BOX_HEIGHT + BETWEEN.rows),
        width: boxWidth,
        height: BOX_HEIGHT,
      });
    }
    const height = FRAME.title + rowCount * (BOX_HEIGHT + BETWEEN.rows) - BETWEEN.rows + FRAME.padding;
    frames.set(frame, { x: 0, y, width: frameWidth, height });
    y += height + BETWEEN.frames;
  }
  const paths = drawn.map((arrow) => {
    const [from, to] = [placed.get(arrow?.from ?? ""), placed.get(arrow?.to ?? "")];
    return from === undefined || to === undefined ? "" : pathOf(from, to);
  });
  return { width: frameWidth, height: Math.max(0, y - BETWEEN.frames), frames, boxes: placed, paths };
}

const within = ({ min, max }: { readonly min: number; readonly max: number }, value: number): number =>
  Math.min(max, Math.max(min, value));

const isKnown = (arrow: Arrow | undefined): arrow is Arrow => arrow !== undefined;

/** Each box is to the right of what uses it, as far as that is possible: circles end where they began. */
function columnsOf(boxes: readonly Box[], arrows: readonly Arrow[], columnsMax: number): ReadonlyMap<string, number> {
  const usersOf = Map.groupBy(arrows, ({ to }) => to);
  const rankOf = new Map(boxes.map(({ id, rank }) => [id, rank]));
  const levels = new Map<string, number>();
  const open = new Set<string>();
  const levelOf = (id: string): number => {
    const known = levels.get(id);
    if (known !== undefined) return known;
    open.add(id);
    const users = (usersOf.get(id) ?? []).filter(({ from }) => !open.has(from));
    const level = Math.max(rankOf.get(id) ?? 0, ...users.map(({ from }) => levelOf(from) + 1));
    open.delete(id);
    levels.set(id, level);
    return level;
  };
  const used = [...new Set(boxes.map(({ id }) => levelOf(id)))].sort((a, b) => a - b);
  return new Map(boxes.map(({ id }) => [id, Math.min(used.indexOf(levelOf(id)), columnsMax - 1)]));
}

/** What is used is at the height of its first user, so that few arrows cross. */
function rowsOf(
  boxes: readonly Box[],
  arrows: readonly Arrow[],
  columnOf: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const rows = new Map<string, number>();
  const byColumn = [...Map.groupBy(boxes, ({ id }) => columnOf.get(id) ?? 0)].sort(([a], [b]) => a - b);
  const usersOf = Map.groupBy(arrows, ({ to }) => to);
  for (const [, own] of byColumn) {
    const wanted = ({ id }: Box) =>
      Math.min(...(usersOf.get(id) ?? []).map(({ from }) => rows.get(from) ?? Number.POSITIVE_INFINITY));
    const sorted = own.map((box) => ({ box, row: wanted(box) })).sort((a, b) => compared(a.row, b.row));
    for (const [row, { box }] of sorted.entries()) rows.set(box.id, row);
  }
  return rows;
}

/** Infinity minus infinity is not a number. */
const compared = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

function pathOf(from: Rectangle, to: Rectangle): string {
  const start = { x: from.x + from.width, y: from.y + from.height / 2 };
  const isAhead = to.x > from.x;
  const end = { x: isAhead ? to.x : to.x + to.width, y: to.y + to.height / 2 };
  const bend = BETWEEN.columns / 2;
  const [first, second] = isAhead ? [start.x + bend, end.x - bend] : [start.x + bend, end.x + bend];
  const back = isAhead ? -HEAD.length : HEAD.length;
  const curve = `M${start.x} ${start.y}C${first} ${start.y} ${second} ${end.y} ${end.x} ${end.y}`;
  return `${curve}m${back} ${-HEAD.halfWidth}L${end.x} ${end.y}l${back} ${HEAD.halfWidth}`;
}

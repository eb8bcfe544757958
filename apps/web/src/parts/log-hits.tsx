import { Button, Group, Switch, Text, TextInput } from "@mantine/core";
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { Lines } from "./lines.ts";
import { type Hit, LogSearch } from "./log-search.ts";

/** What is searched in a log, and the hit that is looked at. */
export interface LogHits {
  readonly text: string;
  /** `undefined` while nothing is searched. */
  readonly search: LogSearch | undefined;
  readonly isFiltering: boolean;
  readonly current: Hit | undefined;
  setText(text: string): void;
  setFiltering(isFiltering: boolean): void;
  /** Goes so many hits further; before the first time, to the one nearest to what is seen. */
  go(steps: 1 | -1): void;
  /** F3 and Shift+F3 go on, as in an editor. */
  onKey(event: KeyboardEvent): void;
}

interface Place {
  /** The number of the first line that is seen. */
  readonly firstSeen: () => number;
  /** Whether the end of the log is shown as it grows, which a search alone does not end. */
  readonly isFollowing: boolean;
  /** Called before another hit is looked at. */
  readonly onGo: () => void;
}

export function useLogHits(lines: Lines, { firstSeen, isFollowing, onGo }: Place): LogHits {
  const [text, setText] = useState("");
  const [isFiltering, setFiltering] = useState(false);
  const [looked, setLooked] = useState<Hit>();
  const wanted = useDeferredValue(text);
  const search = useMemo(() => (wanted === "" ? undefined : new LogSearch(wanted)), [lines, wanted]);
  search?.read(lines);
  // Enter may be pressed while what was typed is still being searched.
  const isAsked = useRef(false);
  const current = looked !== undefined && search?.numberOf(looked) !== undefined ? looked : undefined;

  const look = (hit: Hit | undefined) => {
    setLooked(hit);
    if (hit !== undefined) onGo();
  };
  // While only matching lines are shown, there is nothing to scroll past.
  useEffect(() => {
    const isSilent = (isFiltering || isFollowing) && !isAsked.current;
    isAsked.current = false;
    look(isSilent ? undefined : search?.nearest(looked?.line ?? firstSeen()));
  }, [search]);

  const go = (steps: 1 | -1) => {
    if (text !== wanted) isAsked.current = true;
    if (text !== wanted || search === undefined) return;
    const number = current && search.numberOf(current);
    look(number === undefined ? search.nearest(firstSeen()) : search.hitAt(number + steps));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "F3" || search === undefined) return;
    // Else the browser would open its own search.
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  };
  return { text, search, isFiltering, current, setText, setFiltering, go, onKey };
}

/** The field, the number of hits, and what leads from one to the next. */
export function LogHitsBar({ hits, lineCount }: { readonly hits: LogHits; readonly lineCount: number }) {
  const { text, search, isFiltering, go } = hits;
  return (
    <>
      <TextInput
        size="xs"
        aria-label="Search the log"
        placeholder="Search …"
        value={text}
        onChange={(event) => hits.setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (isEnter(event)) go(event.shiftKey ? -1 : 1);
          else hits.onKey(event);
        }}
      />
      {search !== undefined && (
        <>
          <Text size="xs" c="dimmed" role="status">
            {countText(hits, search, lineCount)}
          </Text>
          <Group gap={4}>
            {STEPS.map(([name, sign, steps]) => (
              <Button
                key={name}
                variant="default"
                size="compact-xs"
                aria-label={name}
                title={`${name} (${steps === 1 ? "Enter" : "Shift+Enter"})`}
                disabled={search.total === 0}
                onClick={() => go(steps)}
              >
                {sign}
              </Button>
            ))}
          </Group>
          <Switch
            size="xs"
            label="Only matching lines"
            checked={isFiltering}
            onChange={(event) => hits.setFiltering(event.currentTarget.checked)}
          />
        </>
      )}
    </>
  );
}

/** Enter that only confirms the composition of a character, as of Japanese, is part of the text. */
export const isEnter = ({ key, nativeEvent }: Pick<KeyboardEvent, "key" | "nativeEvent">): boolean =>
  key === "Enter" && !nativeEvent.isComposing;

const STEPS = [
  ["Previous hit", "↑", -1],
  ["Next hit", "↓", 1],
] as const;

function countText({ current, isFiltering }: LogHits, search: LogSearch, lineCount: number): string {
  const number = current && search.numberOf(current);
  const hits =
    number === undefined ? `${search.total} ${search.total === 1 ? "hit" : "hits"}` : `${number} of ${search.total}`;
  return isFiltering ? `${hits}, ${search.lineCount} of ${lineCount} lines` : hits;
}

import { Button, Group, Switch, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, type UIEvent, useEffect, useRef, useState } from "react";
import { plainText, spansOf } from "./ansi.ts";
import { type Lines, type LogEntry, useVersion } from "./lines.ts";
import { LogHitsBar, useLogHits } from "./log-hits.tsx";
import { type SearchedSpan, withHits } from "./log-search.ts";

interface LogViewerProps {
  readonly lines: Lines;
  /** Name of the log, and of the downloaded file. */
  readonly label: string;
  readonly empty: ReactNode;
  readonly controls?: ReactNode;
}

const LINE_HEIGHT = 20;
const TIME = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

const LONG_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" });

/** Log viewer: follows, searches, wraps, and renders only the visible lines. */
export function LogViewer({ lines, label, empty, controls }: LogViewerProps) {
  const version = useVersion(lines);
  const [isWrapped, setWrapped] = useState(false);
  const [hasTimes, setTimes] = useState(true);
  const [isFollowing, setFollowing] = useState(true);
  const scroller = useRef<HTMLDivElement>(null);
  const scrolled = useRef({ scrollTop: 0, scrollHeight: 0, clientHeight: 0 });
  const isGoing = useRef(false);
  const hits = useLogHits(lines, {
    firstSeen: () => lines.dropped + indexAt(virtual.range?.startIndex ?? 0),
    isFollowing,
    onGo() {
      setFollowing(false);
      isGoing.current = true;
    },
  });
  const { search, current } = hits;
  const filter = hits.isFiltering ? search : undefined;
  const count = filter?.lineCount ?? lines.all.length;
  const indexAt = (row: number) => filter?.indexAt(row) ?? row;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  });
  useEffect(() => {
    if (isFollowing && count > 0) virtual.scrollToIndex(count - 1, { align: "end" });
  }, [isFollowing, count, virtual, version]);
  useEffect(() => {
    if (current === undefined) return;
    virtual.scrollToIndex(filter?.rowOf(current) ?? current.line - lines.dropped, { align: "center" });
  }, [current, filter]);
  // The line of the hit may be drawn some frames later, and be wider than the log.
  useEffect(() => {
    const mark = isGoing.current ? scroller.current?.querySelector(".log-hit-current") : undefined;
    if (mark == null) return;
    isGoing.current = false;
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  /** Keys and the scroll bar move up without any other event. Fewer lines and a higher window do so too. */
  const stopAbove = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: UIEvent) => {
    const before = scrolled.current;
    scrolled.current = { scrollTop, scrollHeight, clientHeight };
    const isOfUser = scrollHeight >= before.scrollHeight && clientHeight <= before.clientHeight;
    if (isOfUser && scrollTop < before.scrollTop) setFollowing(false);
  };

  const download = () => {
    const text = lines.all
      .map(({ at, text: line }) => `${at === undefined ? "" : `${at} `}${plainText(line)}`)
      .join("\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
    link.download = `${label.replaceAll(/[^\w.-]+/g, "-")}.log`;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  return (
    <div>
      <Group gap="sm" mb="xs">
        {controls}
        <LogHitsBar hits={hits} lineCount={lines.all.length} />
        <Switch
          size="xs"
          label="Wrap"
          checked={isWrapped}
          onChange={(event) => setWrapped(event.currentTarget.checked)}
        />
        {lines.hasTimes && (
          <Switch
            size="xs"
            label="Times"
            checked={hasTimes}
            onChange={(event) => setTimes(event.currentTarget.checked)}
          />
        )}
        <Switch
          size="xs"
          label="Follow"
          checked={isFollowing}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
        <Button variant="default" size="compact-xs" onClick={download} disabled={lines.all.length === 0}>
          Download
        </Button>
      </Group>
      <div
        ref={scroller}
        className={isWrapped ? "log log-wrap" : "log"}
        role="log"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be focusable for keyboard users.
        tabIndex={0}
        onScroll={stopAbove}
        onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
        onKeyDown={hits.onKey}
      >
        {count === 0 ? (
          <Text c="dimmed" size="sm" p="sm" component="div">
            {filter === undefined ? empty : `No line contains “${hits.text}”.`}
          </Text>
        ) : (
          <div className="log-rows" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start, key }) => (
              <div
                key={key}
                ref={isWrapped ? virtual.measureElement : null}
                data-index={index}
                className="log-line"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Line
                  entry={lines.all[indexAt(index)]}
                  hasTimes={hasTimes && lines.hasTimes}
                  pattern={search?.pattern}
                  current={current?.line === lines.dropped + indexAt(index) ? current.nth : undefined}
                />
              </div>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

const Line = memo(function Line({
  entry,
  hasTimes,
  pattern,
  current,
}: {
  readonly entry: LogEntry | undefined;
  readonly hasTimes: boolean;
  /** What is searched. */
  readonly pattern: RegExp | undefined;
  /** Which of the line's hits is looked at. */
  readonly current: number | undefined;
}) {
  if (entry === undefined) return null;
  const spans = spansOf(entry.text);
  const parts: readonly SearchedSpan[] = pattern === undefined ? spans : withHits(spans, pattern);
  return (
    <>
      {hasTimes && (
        <span className="log-time" title={entry.at === undefined ? undefined : LONG_TIME.format(new Date(entry.at))}>
          {entry.at === undefined ? "" : TIME.format(new Date(entry.at))}
        </span>
      )}
      {entry.step !== undefined && <span className="log-step">{entry.step ?? ""}</span>}
      <span className={entry.isError === true ? "log-error" : ""}>
        {parts.map(({ text, className, hit }, index) =>
          // The order of a line's parts never changes, so the index is a stable key.
          hit === undefined ? (
            <span key={index} className={className}>
              {text}
            </span>
          ) : (
            <mark key={index} className={hit === current ? "log-hit log-hit-current" : "log-hit"}>
              {text}
            </mark>
          ),
        )}
      </span>
    </>
  );
});

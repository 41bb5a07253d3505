import Foundation
import ParseProtocol

/// `/operations/log`: follows the log. Each response has the cursor for the next request.
extension LogController {
    /// Bytes of one process's log in one response; the rest follows in the next.
    private static let followBytes = 128 << 10
    /// Rotated logs that are kept (`compose/program.conf`).
    private static let backups = 3

    private struct Question: Sendable {
        let options: Options
        /// Nil for the first request.
        let cursor: LogCursor?
        let text: String
        /// A service or a replica; empty for all.
        let service: String

        /// - Throws: `.invalidQuery` (102).
        init(_ options: [String: JSON]) throws(ParseError) {
            var options = options
            func text(_ name: String) throws(ParseError) -> String {
                guard let value = options.removeValue(forKey: name), !value.isNull else { return "" }
                // A value in a URL may look like a number or other JSON.
                return value.stringValue ?? value.serializedText
            }
            let after = try text("after")
            cursor = after.isEmpty ? nil : try LogCursor(after)
            self.text = try text("text")
            service = try text("service")
            self.options = try Options(options)
        }

        /// - Parameter redacted: the line without secrets. Only visible text is searched; otherwise a client could
        ///   guess a secret letter by letter.
        func wants(_ line: LogLine, _ redacted: (JSON) -> JSON) -> Bool {
            guard line.level >= options.level, line.time >= options.from,
                // With a cursor, new lines are included even if they were written after the request.
                cursor != nil || line.time <= options.until,
                service.isEmpty || line.process == service || line.process.hasPrefix(service + "-")
            else { return false }
            guard !text.isEmpty else { return true }
            let json = line.json
            return json.serializedText.localizedCaseInsensitiveContains(text)
                && redacted(json).serializedText.localizedCaseInsensitiveContains(text)
        }
    }

    private struct Found: Sendable {
        var lines: [LogLine] = []
        var cursor = LogCursor()
        var isMore = false
        var isGap = false
    }

    /// The newest lines, or with `after` the lines since then, oldest first. `entries` are the lines and `next` is the
    /// next cursor; `isMore` is set when more lines are available at once, `isGap` when lines in between are gone.
    func follow(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let question = try Question(request.options())
        guard let found = await Self.disk.run({ find(question) }) else { throw Self.noLogs }
        let sorted = Self.sorted(found.lines)
        let chosen = question.cursor == nil ? sorted.suffix(Int(question.options.size)) : sorted[...]
        return ParseResponse([
            "entries": .array(chosen.map { secrets.redacted($0.json) }), "next": .string(found.cursor.text),
            "isMore": .bool(found.isMore), "isGap": .bool(found.isGap),
        ])
    }

    /// Nil when the folder does not exist. Blocks.
    private func find(_ question: Question) -> Found? {
        guard let logs = logs() else { return nil }
        var found = Found()
        for (process, path) in logs {
            guard let taken = Self.take(of: path, process, question.cursor, &found.isGap) else { continue }
            found.cursor.positions[process] = taken.position
            if taken.isMore { found.isMore = true }
            found.lines += LogLine.all(taken.lines, of: process).filter { question.wants($0, secrets.redacted) }
        }
        return found
    }

    /// The new lines of one process's log. Blocks.
    private static func take(
        of path: String, _ process: String, _ cursor: LogCursor?, _ isGap: inout Bool
    ) -> LogTake? {
        let files = open(path)
        defer { for file in files { try? file.handle.close() } }
        guard let newest = files.first else { return nil }
        guard let cursor else {
            let start = newest.state.size > tailBytes ? newest.state.size - tailBytes : 0
            var take = LogTake(from: .init(inode: newest.state.inode, offset: start), room: Int(tailBytes))
            _ = take.add(read(newest, start, Int(tailBytes)), at: start, of: newest.state)
            // The first line of the part is usually incomplete.
            if start > 0 { take.dropFirst() }
            return take
        }
        let (parts, isLost) = LogCursor.parts(after: cursor.positions[process], of: files.map(\.state))
        if isLost { isGap = true }
        guard let first = parts.first else { return nil }
        var take = LogTake(
            from: .init(inode: files[first.file].state.inode, offset: first.offset), room: followBytes)
        for part in parts {
            let file = files[part.file]
            guard take.add(read(file, part.offset, take.room), at: part.offset, of: file.state) else { break }
        }
        return take
    }

    private struct OpenFile {
        let handle: FileHandle
        let state: LogCursor.File
    }

    /// A log and its rotated files, newest first. A file that is rotated in the meantime appears once.
    private static func open(_ path: String) -> [OpenFile] {
        var files: [OpenFile] = []
        for name in [path] + (1...backups).map({ "\(path).\($0)" }) {
            guard let handle = FileHandle(forReadingAtPath: name) else { continue }
            var state = stat()
            guard fstat(handle.fileDescriptor, &state) == 0, !files.contains(where: { $0.state.inode == state.st_ino })
            else {
                try? handle.close()
                continue
            }
            files.append(
                OpenFile(handle: handle, state: .init(inode: UInt64(state.st_ino), size: UInt64(state.st_size))))
        }
        return files
    }

    private static func read(_ file: OpenFile, _ offset: UInt64, _ count: Int) -> [UInt8] {
        // Only up to the size seen before; later bytes follow with the next request.
        let count = min(count, Int(file.state.size - min(offset, file.state.size)))
        guard count > 0, (try? file.handle.seek(toOffset: offset)) != nil,
            let data = try? file.handle.read(upToCount: count)
        else { return [] }
        return Array(data)
    }
}

extension LogLine {
    /// The lines of a process's log. A line of another form, such as the rest of a multi-line message, gets the level
    /// and time of the line before it; without one it is skipped.
    static func all(_ lines: [String], of process: String) -> [LogLine] {
        var all: [LogLine] = []
        for text in lines {
            if let line = LogLine(text[...]) {
                all.append(line)
            } else if let last = all.last {
                all.append(LogLine(time: last.time, level: last.level, process: process, message: text, metadata: [:]))
            }
        }
        return all
    }
}

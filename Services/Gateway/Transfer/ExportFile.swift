import ParseProtocol
import Synchronization

/// The file of an export as its client takes it: a page in memory, and the next one when that was sent.
final class ExportFile: Sendable {
    enum Format {
        case json
        case csv([CSVColumn])
    }

    private let pages: ExportPages
    private let format: Format
    private let settings: CapacitySettings
    private let place: ExportPlaces.Place
    /// The page that is sent next; the closure of a response would hold one for as long as it lives.
    private let page: Mutex<ExportPage?>

    /// A page that finds no room is asked for again after this.
    private static let pause = Duration.milliseconds(500)

    init(
        _ first: ExportPage, of pages: ExportPages, as format: Format, _ settings: CapacitySettings,
        in place: ExportPlaces.Place
    ) {
        self.pages = pages
        self.format = format
        self.settings = settings
        self.place = place
        page = Mutex(first)
    }

    /// Sends everything.
    /// - Throws: what the services say, when the client is too slow or has gone. Ending the connection tells it that
    ///   the file is not complete.
    func send(through writer: ResponseBodyWriter) async throws {
        var sender = AnswerWriter.Sender(settings)
        try await sender.send(head, through: writer)
        var size = ExportPageSize()
        var isFirst = true
        while let cursor = try await sendPage(&size, isFirst: isFirst, &sender, writer) {
            isFirst = false
            try await read(after: cursor, &size)
        }
        try await sender.send(tail, through: writer)
    }

    /// Sends the page that is there, which is gone when this returns.
    /// - Returns: where the next one begins; nil after the last one.
    private func sendPage(
        _ size: inout ExportPageSize, isFirst: Bool, _ sender: inout AnswerWriter.Sender,
        _ writer: ResponseBodyWriter
    ) async throws -> String? {
        guard let page = self.page.withLock({ $0.take() }) else { return nil }
        size.came(rows: page.objects.count, bytes: page.bytes)
        try await sender.send(lines(page.objects, isFirst: isFirst), through: writer)
        return page.next
    }

    /// Other answers are taken by and by: a file that was begun waits for its next page as long as for its client.
    private func read(after cursor: String, _ size: inout ExportPageSize) async throws {
        let end = ContinuousClock.now + .seconds(settings.stallSeconds)
        while true {
            do throws(ParseError) {
                return keep(try await pages.page(after: cursor, rows: size.rows))
            } catch {
                let isFull = error.code == .requestLimitExceeded && ContinuousClock.now < end
                guard isFull || error.code == .invalidQuery && size.wasTooLarge() else { throw error }
                if isFull { try await Task.sleep(for: Self.pause) }
            }
        }
    }

    private func keep(_ next: ExportPage) { page.withLock { $0 = next } }

    private var head: [UInt8] {
        switch format {
        case .json: Array("{\"results\":[\n".utf8)
        case .csv(let columns): CSVTable.line(columns.map(\.name))
        }
    }

    private var tail: [UInt8] {
        switch format {
        case .json: Array("\n]}\n".utf8)
        case .csv: []
        }
    }

    private func lines(_ objects: [JSON], isFirst: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, object) in objects.enumerated() {
            switch format {
            case .json:
                if !isFirst || index > 0 { bytes += ",\n".utf8 }
                bytes += object.serialized
            case .csv(let columns): bytes += CSVTable.line(columns.map { $0.text(object[$0.name]) })
            }
        }
        return bytes
    }
}

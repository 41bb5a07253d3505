import ParseProtocol
import Synchronization

/// The file of an export, sent at the client's pace: one page is in memory, and the next is read when it was sent.
final class ExportFile: Sendable {
    enum Format {
        case json
        case csv([CSVColumn])
    }

    private let pages: ExportPages
    private let format: Format
    private let settings: CapacitySettings
    private let slot: ExportSlots.Slot
    /// The next page to send. The response's closure would hold a page as long as it lives.
    private let page: Mutex<ExportPage?>

    /// The pause before a page that found no memory or no service is requested again.
    private static let pause = Duration.milliseconds(500)

    init(
        _ first: ExportPage, of pages: ExportPages, as format: Format, _ settings: CapacitySettings,
        in slot: ExportSlots.Slot
    ) {
        self.pages = pages
        self.format = format
        self.settings = settings
        self.slot = slot
        page = Mutex(first)
    }

    /// Sends the whole file.
    /// - Throws: the services' errors, and when the client is too slow or has disconnected. Closing the connection
    ///   shows the client that the file is incomplete.
    func send(through writer: ResponseBodyWriter) async throws {
        var sender = PacedBody.Sender(settings)
        try await sender.send(head, through: writer)
        var size = ExportPageSize()
        var isFirst = true
        while let cursor = try await sendPage(&size, isFirst: isFirst, &sender, writer) {
            isFirst = false
            try await read(after: cursor, &size)
        }
        try await sender.send(tail, through: writer)
    }

    /// Sends the current page and releases it.
    /// - Returns: the cursor of the next page; nil after the last one.
    private func sendPage(
        _ size: inout ExportPageSize, isFirst: Bool, _ sender: inout PacedBody.Sender,
        _ writer: ResponseBodyWriter
    ) async throws -> String? {
        guard let page = self.page.withLock({ $0.take() }) else { return nil }
        size.came(rows: page.objects.count, bytes: page.bytes)
        try await sender.send(lines(page.objects, isFirst: isFirst), through: writer)
        return page.next
    }

    /// Other responses release their memory over time, and a service returns, so a started file waits for its next page
    /// as long as for its client.
    private func read(after cursor: String, _ size: inout ExportPageSize) async throws {
        let end = ContinuousClock.now + .seconds(settings.stallSeconds)
        while true {
            do throws(ParseError) {
                return keep(try await pages.page(after: cursor, rows: size.rows))
            } catch {
                let mayPass = error.code == .requestLimitExceeded || error.code == .serviceUnavailable
                let waits = mayPass && ContinuousClock.now < end
                guard waits || error.code == .invalidQuery && size.wasTooLarge() else { throw error }
                if waits { try await Task.sleep(for: Self.pause) }
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

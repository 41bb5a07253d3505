import ArgumentParser
import CPostgreSQL
import Foundation
import Synchronization

/// Prepared statements with libpq on many connections, each with one statement in flight: the upper bound for readers
/// and writers that wait for their answers.
struct RawPostgreSQL: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "raw-postgresql",
        abstract: "Runs one prepared statement on many connections and prints how often in a second.")

    @OptionGroup var options: PostgreSQLOptions
    @Option(help: "Threads, each with its part of the connections; as many as connections wait for one alone.")
    var threads = 2
    @Flag(help: "Reads by the store's own statement, which looks at the rights of a user and at the schema's number.")
    var withRights = false

    func run() throws {
        let place = try BenchedClass.place(options.connection)
        let sql =
            switch options.work {
            case .read where withRights: BenchedClass.readingWithRights(place)
            case .read: "SELECT doc FROM \(place.table) WHERE objectid = $1"
            case .create: "INSERT INTO \(place.schema).raw \(BenchedClass.insertion)"
            }
        if options.work == .create { try BenchedClass.makeRawTable(place, options.connection) }
        let counts = Atomic<Int>(0)
        let isFaulty = Atomic<Bool>(false)
        let (share, rest) = options.connections.quotientAndRemainder(dividingBy: threads)
        let loops = try (0..<threads).map { index in
            try RawLoop(
                connections: share + (index < rest ? 1 : 0), options, sql: sql, ids: place.ids, number: index)
        }
        let clock = ContinuousClock()
        let start = clock.now
        onThreads(threads) { index in
            do {
                let count = try loops[index].run(until: start + .seconds(options.seconds))
                counts.wrappingAdd(count, ordering: .relaxed)
            } catch {
                isFaulty.store(true, ordering: .relaxed)
            }
        }
        guard !isFaulty.load(ordering: .relaxed) else { throw ValidationError("A statement failed.") }
        print(Int(Double(counts.load(ordering: .relaxed)) / ((clock.now - start) / .seconds(1))))
    }
}

/// Several connections on one thread, which polls all of them.
private final class RawLoop: @unchecked Sendable {
    private let handles: [OpaquePointer]
    private let work: PostgreSQLWork
    private let ids: [String]
    private var turn: Int
    private var count = 0

    init(connections: Int, _ options: PostgreSQLOptions, sql: String, ids: [String], number: Int) throws {
        work = options.work
        self.ids = ids
        turn = number * 7919
        handles = try (0..<connections).map { _ in
            guard let handle = PQconnectdb(options.connection), PQstatus(handle) == CONNECTION_OK,
                let prepared = PQprepare(handle, "s", sql, 0, nil)
            else { throw ValidationError("No server answers.") }
            defer { PQclear(prepared) }
            guard PQresultStatus(prepared) == PGRES_COMMAND_OK, PQsetnonblocking(handle, 1) == 0 else {
                throw ValidationError("The statement was not taken: \(String(cString: PQerrorMessage(handle)))")
            }
            return handle
        }
    }

    deinit { for handle in handles { PQfinish(handle) } }

    /// - Returns: the number of answered statements.
    func run(until end: ContinuousClock.Instant) throws -> Int {
        var waiting = handles.map { pollfd(fd: PQsocket($0), events: Int16(POLLIN), revents: 0) }
        for handle in handles { try send(handle) }
        while ContinuousClock.now < end {
            guard poll(&waiting, nfds_t(waiting.count), 1000) > 0 else { continue }
            for (index, state) in waiting.enumerated() where state.revents != 0 { try take(handles[index]) }
        }
        return count
    }

    private func send(_ handle: OpaquePointer) throws {
        turn += 1
        let isSent =
            switch work {
            case .read: Self.send(handle, [ids[turn &* 2_654_435_761 % ids.count]])
            case .create: Self.send(handle, [BenchedClass.newId(), BenchedClass.document])
            }
        guard isSent, PQflush(handle) == 0 else { throw ExitCode.failure }
    }

    private static func send(_ handle: OpaquePointer, _ values: [String]) -> Bool {
        if let only = values.first, values.count == 1 {
            return only.withCString { text in
                var parameters: [UnsafePointer<CChar>?] = [text]
                return PQsendQueryPrepared(handle, "s", 1, &parameters, nil, nil, 0) == 1
            }
        }
        return values[0].withCString { first in
            values[1].withCString { second in
                var parameters: [UnsafePointer<CChar>?] = [first, second]
                return PQsendQueryPrepared(handle, "s", 2, &parameters, nil, nil, 0) == 1
            }
        }
    }

    private func take(_ handle: OpaquePointer) throws {
        guard PQconsumeInput(handle) == 1 else { throw ExitCode.failure }
        while PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                count += 1
                return try send(handle)
            }
            defer { PQclear(result) }
            guard PQresultStatus(result) == PGRES_COMMAND_OK || PQntuples(result) == 1 else { throw ExitCode.failure }
        }
    }
}

/// Runs `body` on this many threads and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        let thread = Thread {
            body(index)
            group.leave()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }
    group.wait()
}

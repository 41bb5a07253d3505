import Foundation
import ParseProtocol

/// A file that holds a key of random bytes, made at the first start. Only its user can read it.
public struct KeyFile: Sendable {
    /// Length of a key in bytes.
    public static let bytes = 32

    private let path: String

    /// The file at `path`; nothing is read or made yet.
    public init(path: String) { self.path = path }

    /// The key in the file. Of replicas that start together one makes the file and all read it: it appears under its
    /// name with all its bytes, or not at all.
    /// - Throws: `StartupProblem` when it can be neither read nor made, or is no key.
    public func key() throws -> [UInt8] {
        if let known = try read() { return known }
        try make()
        guard let made = try read() else { throw StartupProblem("\(path) could not be made.") }
        return made
    }

    private func read() throws -> [UInt8]? {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch {
            // A file that is there and cannot be read must not be taken for none: another key would end what the first
            // one opened.
            throw StartupProblem("\(path) cannot be read.")
        }
        let digits = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let bytes = [UInt8](hex: digits), bytes.count == Self.bytes else {
            throw StartupProblem("\(path) holds no key. Put the file back from a copy of the data directory.")
        }
        return bytes
    }

    private func make() throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        do throws(DurableFile.Failure) {
            // A name that is taken is another replica's key, which counts.
            try DurableFile.write(
                Array(Hex.random(bytes: Self.bytes).utf8), to: path, draft: "\(path).\(Names.random(12))", taken: .keep)
        } catch {
            throw StartupProblem("\(path) cannot be written: \(error).")
        }
    }
}

import Foundation
import Glibc
import ParseProtocol

/// The versions of the code on the disk, as stored by scripts/cloud: numbered folders beside the code's path, which is
/// a link to one of them.
package struct CodeVersions: Sendable {
    /// A failed system call.
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let code = errno

        var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    /// Maximum stored versions, including the current one (as in scripts/cloud).
    private static let keptMax = 10

    /// The path of the link; its parent path has no links.
    private let place: String
    /// `<place>.versions`.
    private let folder: String
    /// scripts/cloud uses the same lock: only one version is deployed at a time.
    private let lockFile: String

    /// - Parameters:
    ///   - place: an absolute path.
    ///   - lockFile: created if missing.
    package init(place: String, lockFile: String) {
        self.place = place
        folder = place + ".versions"
        self.lockFile = lockFile
    }

    /// Oldest first.
    package var numbers: [Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name in Int(name).flatMap { $0 > 0 && String($0) == name ? $0 : nil } }.sorted()
    }

    /// The version to which the link points; nil when the code is not a stored version.
    package var current: Int? {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place) else { return nil }
        return target.split(separator: "/").last.flatMap { Int($0) }
    }

    /// The folder of a version.
    package func path(of number: Int) -> String { "\(folder)/\(number)" }

    /// When a version was created.
    package func made(_ number: Int) -> Timestamp? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path(of: number))
        return (attributes?[.modificationDate] as? Date).map {
            Timestamp(milliseconds: Int64($0.timeIntervalSince1970 * 1000))
        }
    }

    // MARK: Changes, under the lock

    /// Runs the body while no other process changes versions.
    /// - Throws: `.serviceUnavailable` (2) while another process holds the lock.
    package func locked<Result>(_ body: () async throws -> Result) async throws -> Result {
        let descriptor = open(lockFile, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(call: "open") }
        // Closing it releases the lock.
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw ParseError(.serviceUnavailable, "Another version of the cloud code is being taken.")
        }
        return try await body()
    }

    /// Writes files as the next version, completely or not at all.
    /// - Throws: a disk error.
    package func add(_ upload: CodeUpload) throws -> Int {
        let manager = FileManager.default
        let draft = folder + "/new"
        try? manager.removeItem(atPath: draft)
        try manager.createDirectory(atPath: draft, withIntermediateDirectories: true)
        for file in upload.files {
            let url = URL(fileURLWithPath: "\(draft)/\(file.path)")
            try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try DurableFile.write(Array(file.text.utf8), to: url.path)
        }
        return try keep(draft)
    }

    /// Converts code that an operator copied by hand into a version, and replaces its path with a link. Nil when it
    /// already is a version, or when there is no code.
    /// - Throws: a disk error.
    package func adopt() throws -> Int? {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        guard (try? manager.destinationOfSymbolicLink(atPath: place)) == nil,
            manager.fileExists(atPath: place, isDirectory: &isFolder), isFolder.boolValue
        else { return nil }
        let draft = folder + "/new"
        try? manager.removeItem(atPath: draft)
        try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try manager.copyItem(atPath: place, toPath: draft)
        let number = try keep(draft)
        let old = place + ".old"
        try? manager.removeItem(atPath: old)
        try manager.moveItem(atPath: place, toPath: old)
        try point(to: number)
        try? manager.removeItem(atPath: old)
        return number
    }

    private func keep(_ draft: String) throws -> Int {
        let number = (numbers.last ?? 0) + 1
        guard rename(draft, path(of: number)) == 0 else { throw Failure(call: "rename") }
        return number
    }

    /// Points the link to a version.
    /// - Throws: a disk error; the link is then unchanged.
    package func point(to number: Int) throws {
        let draft = place + ".new"
        unlink(draft)
        let target = "\(URL(fileURLWithPath: folder).lastPathComponent)/\(number)"
        guard symlink(target, draft) == 0, rename(draft, place) == 0 else {
            throw Failure(call: "symlink")
        }
    }

    /// Removes a version that will not be reactivated.
    package func remove(_ number: Int) { try? FileManager.default.removeItem(atPath: path(of: number)) }

    /// Removes the oldest versions beyond the limit, but never the current one.
    package func removeOld() {
        for number in numbers.dropLast(Self.keptMax) where number != current { remove(number) }
    }

    // MARK: The taken version

    /// The version that a replica loaded while running (`deployCloudCode`). The other replicas load it too, if the link
    /// still points to it.
    package var taken: Int? {
        guard let text = try? String(contentsOfFile: takenFile, encoding: .utf8) else { return nil }
        return Int(text).flatMap { $0 == current ? $0 : nil }
    }

    /// Points the link to a version that this replica has loaded, so that the others load it too. If the process ends
    /// between the two steps, the link names the version before, which all replicas normally run.
    /// - Throws: a disk error; the link is then unchanged.
    package func take(_ number: Int) throws {
        let before = taken
        try setTaken(number)
        do {
            try point(to: number)
        } catch {
            if let before { try? setTaken(before) }
            throw error
        }
    }

    /// Stores it.
    /// - Throws: `DurableFile.Failure`.
    package func setTaken(_ number: Int) throws { try DurableFile.write(Array(String(number).utf8), to: takenFile) }

    private var takenFile: String { folder + "/taken" }
}

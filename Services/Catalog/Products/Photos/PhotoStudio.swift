import Foundation
import ParseProtocol
import Platform

/// Makes the two pictures of a product from a photo: upright, without metadata (such as place and author), never
/// enlarged.
package final class PhotoStudio: Sendable {
    package static let thumbnailWidth = 408
    package static let fullWidth = 1632
    /// A good phone camera takes 12 to 48 million. A file of a few kilobytes can claim a billion.
    package static let pixelsMax = 50_000_000
    /// Photos processed at once; each uses one core.
    private static let workersMax = 2
    /// Maximum waiting photos, a few seconds of work; beyond it the caller is asked to retry later.
    private static let waitingMax = 32

    private let folder: FileFolder
    private let queue = OperationQueue()

    /// A picture on the disk that has no row yet.
    package struct Picture: Sendable {
        let entry: FileTable.Entry
        package var file: JSON { ["__type": "File", "name": .string(entry.name)] }
    }

    package init(folder: FileFolder) {
        self.folder = folder
        queue.maxConcurrentOperationCount = Self.workersMax
    }

    /// - Parameters:
    ///   - name: the photo's stored name.
    ///   - path: of a copy of the photo; nil when the folder has it.
    /// - Throws: `.invalidImageData` (150) when the file is not a photo, `.fileSaveError` (130) when the pictures
    ///   cannot be saved, `.serviceUnavailable` (2) when too many photos wait.
    package func pictures(
        of name: String, at path: String? = nil
    ) async throws -> (full: Picture, thumbnail: Picture) {
        guard queue.operationCount < Self.workersMax + Self.waitingMax else {
            throw ParseError(.serviceUnavailable, "Too many photos are being worked on. Try again later.")
        }
        return try await withCheckedThrowingContinuation { continuation in
            queue.addOperation { [self] in
                continuation.resume(with: Result { try make(name, path ?? folder.location(of: name)) })
            }
        }
    }

    private static func invalid(_ why: String) -> ParseError { ParseError(.invalidImageData, why) }

    private func make(_ name: String, _ photo: String) throws -> (full: Picture, thumbnail: Picture) {
        guard let start = try? folder.read(file: photo, offset: 0, length: 16), PhotoHeader.isPhoto(start) else {
            throw Self.invalid("The file is not a JPEG, PNG, GIF, WebP or HEIC image.")
        }
        let work: String
        do {
            work = try folder.makeWorkFolder()
        } catch {
            throw ParseError(.fileSaveError, "The pictures could not be saved.")
        }
        defer { try? FileManager.default.removeItem(atPath: work) }
        let header = try header(of: photo, work)
        guard header.width <= Self.pixelsMax / header.height else {
            throw Self.invalid("The image has more than \(Self.pixelsMax) pixels.")
        }
        let kind = header.hasAlpha ? "png" : "jpg"
        let full = "\(work)/full.\(kind)"
        let thumbnail = "\(work)/thumbnail.\(kind)"
        // The photo is decoded once; the small picture is made from the large one.
        guard shrink(photo, to: Self.fullWidth, full, hasProfile: hasProfile(photo, work), secondsMax: 8),
            shrink(full, to: Self.thumbnailWidth, thumbnail, secondsMax: 4)
        else { throw Self.invalid("The image is broken, or too large to process.") }
        let original = FileNames.original(name)
        let title = original.lastIndex(of: ".").map { String(original[..<$0]) } ?? original
        return (
            try keep(full, as: "\(title).\(kind)", kind), try keep(thumbnail, as: "\(title)-small.\(kind)", kind)
        )
    }

    private func header(of photo: String, _ work: String) throws -> PhotoHeader {
        let output = "\(work)/header"
        let command = LimitedCommand(arguments: ["/usr/bin/vipsheader", photo], secondsMax: 4, output: output)
        guard command.run() == 0, let bytes = FileManager.default.contents(atPath: output),
            let header = PhotoHeader(String(decoding: bytes, as: UTF8.self))
        else { throw Self.invalid("The image is broken.") }
        return header
    }

    /// Whether the photo has a colour profile.
    private func hasProfile(_ photo: String, _ work: String) -> Bool {
        LimitedCommand(
            arguments: ["/usr/bin/vipsheader", "-f", "icc-profile-data", photo], secondsMax: 4,
            output: "\(work)/profile"
        ).run() == 0
    }

    /// Shrinks an image to a maximum width. A truncated image is an error instead of a grey area.
    /// - Parameter hasProfile: converts the colours to sRGB. Without a profile the colours are sRGB already, and
    ///   libvips would assume another profile.
    private func shrink(
        _ source: String, to width: Int, _ target: String, hasProfile: Bool = false, secondsMax: Int
    ) -> Bool {
        let options = target.hasSuffix(".png") ? "[compression=6,strip]" : "[Q=86,strip,optimize-coding]"
        return LimitedCommand(
            arguments: [
                "/usr/bin/vips", "thumbnail", source, target + options, "\(width)", "--height", "1000000", "--size",
                "down",
                "--fail-on", "truncated",
            ] + (hasProfile ? ["--export-profile", "srgb"] : []), secondsMax: secondsMax
        ).run() == 0
    }

    private func keep(_ file: String, as name: String, _ kind: String) throws -> Picture {
        let kept = FileNames.kept(name)
        do {
            let size = try folder.adopt(file, as: kept)
            return Picture(
                entry: .init(name: kept, contentType: kind == "png" ? "image/png" : "image/jpeg", size: size))
        } catch {
            throw ParseError(.fileSaveError, "The pictures could not be saved.")
        }
    }
}

import Foundation
import ParseProtocol
import Platform
import Testing

/// The folder of shrunk pictures: its limit, eviction, and the removal of a file.
@Suite final class PictureFolderTests: Sendable {
    private let data = FileManager.default.temporaryDirectory.path + "/satchel-pictures-\(Names.random(10))"

    deinit { try? FileManager.default.removeItem(atPath: data) }

    /// A picture of one block of the disk.
    private let block = [UInt8](repeating: 7, count: 4000)

    private func paths() -> [String] {
        (FileManager.default.enumerator(atPath: data + "/pictures")?.compactMap { $0 as? String } ?? [])
            .filter { $0.contains(".") }
    }

    /// As if the picture was last used some seconds ago.
    private func age(_ found: PictureFolder.Found, seconds: TimeInterval) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: found.path)
    }

    @Test func aPictureIsFoundByFileWidthAndType() {
        let folder = PictureFolder(dataDirectory: data, bytesMax: 1 << 20)
        let name = FileNames.storedName("a.png")
        #expect(folder.find(name, 320, [.webp]) == nil)
        folder.add(block, name, 320, .png)
        let found = folder.find(name, 320, [.jpg, .png])
        #expect(found?.kind == .png)
        #expect(found?.size == 4000)
        #expect(folder.find(name, 320, [.webp, .jpg]) == nil)
        #expect(folder.find(name, 640, [.png]) == nil)
        #expect(folder.find(FileNames.storedName("a.png"), 320, [.png]) == nil)
        #expect(PictureFolder.Kind.allCases.map(\.contentType) == ["image/webp", "image/jpeg", "image/png"])
    }

    @Test func theLimitHoldsAndTheUnusedGo() throws {
        let folder = PictureFolder(dataDirectory: data, bytesMax: 10 * 4096)
        let names = (0..<10).map { FileNames.storedName("\($0).jpg") }
        for name in names { folder.add(block, name, 160, .jpg) }
        #expect(paths().count == 10)
        for (place, name) in names.enumerated() {
            let found = try #require(folder.find(name, 160, [.jpg]))
            try age(found, seconds: TimeInterval(100 - place))
        }
        // The oldest of them is used again.
        #expect(folder.find(names[0], 160, [.jpg]) != nil)
        folder.add(block, FileNames.storedName("new.jpg"), 160, .jpg)
        // Nine tenths of the limit are left.
        #expect(paths().count == 9)
        #expect(folder.find(names[0], 160, [.jpg]) != nil)
        #expect(folder.find(names[1], 160, [.jpg]) == nil)
        #expect(folder.find(names[2], 160, [.jpg]) == nil)
        #expect(folder.find(names[3], 160, [.jpg]) != nil)

        for number in 0..<200 {
            folder.add(block, FileNames.storedName("\(number).jpg"), 160, .jpg)
            #expect(paths().count <= 10)
        }
    }

    /// Another replica adds to the same folder, and a crash left an unfinished file.
    @Test func whatOthersAddCounts() throws {
        let folders = (0..<2).map { _ in PictureFolder(dataDirectory: data, bytesMax: 50 * 4096) }
        for number in 0..<400 { folders[number % 2].add(block, FileNames.storedName("\(number).jpg"), 160, .jpg) }
        // Each may add 32 pictures before it lists the folder again.
        #expect(paths().count <= 50 + 33)
        let unfinished = data + "/pictures/aa/.unfinished"
        try FileManager.default.createDirectory(atPath: data + "/pictures/aa", withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: unfinished, contents: Data(block))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -9999)], ofItemAtPath: unfinished)
        let restarted = PictureFolder(dataDirectory: data, bytesMax: 50 * 4096)
        restarted.add(block, FileNames.storedName("x.jpg"), 160, .jpg)
        #expect(!FileManager.default.fileExists(atPath: unfinished))
        #expect(paths().count <= 50)
    }

    @Test func aPictureLargerThanTheLimitIsNotKept() {
        let folder = PictureFolder(dataDirectory: data, bytesMax: 4096)
        let name = FileNames.storedName("a.jpg")
        folder.add([UInt8](repeating: 1, count: 9000), name, 1920, .jpg)
        #expect(folder.find(name, 1920, [.jpg]) == nil)
        #expect(paths() == [])
    }

    @Test func theyGoWithTheirFile() async throws {
        let folder = PictureFolder(dataDirectory: data, bytesMax: 1 << 20)
        let files = FileFolder(dataDirectory: data)
        let name = FileNames.storedName("a.jpg")
        let other = FileNames.storedName("b.jpg")
        try await files.save(block, as: name)
        folder.add(block, name, 160, .webp)
        folder.add(block, name, 1920, .jpg)
        folder.add(block, other, 160, .webp)
        files.remove(name)
        try await files.onDisk {}
        #expect(files.size(of: name) == nil)
        #expect(folder.find(name, 160, [.webp]) == nil)
        #expect(folder.find(name, 1920, [.jpg]) == nil)
        #expect(folder.find(other, 160, [.webp]) != nil)
    }
}

import Foundation
import Messages
import ParseProtocol
import Testing
import WebService

/// The pictures of the storefront's pages: widths for the browser to choose from, and boxes that do not move.
@Suite struct ShopPictureTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Storefront")
    private static let files = "https://shop.example/parse/files/satchel"
    private static let none: (Int, JSON) = (200, ["results": []])

    private static func file(_ name: String) -> JSON {
        ["__type": "File", "name": .string(name), "url": .string("\(files)/\(name.replacing(" ", with: "%20"))")]
    }

    private static func html(_ path: [String], _ results: [(Int, JSON)]) throws -> String {
        let shop = try Shop(
            reading: folder, shopName: "Beauty & Me", currency: try Currency("usd"), zone: .utc, isSandbox: true,
            assets: "/shop/assets/1/shop")
        return shop.reply(
            to: .with {
                $0.method = "GET"
                $0.path = path
                $0.languages = "en"
                $0.url = "https://shop.example"
                $0.results = results.map { status, body in
                    .with {
                        $0.status = UInt32(status)
                        $0.body = Data(body.serialized)
                    }
                }
            }
        ).page.html
    }

    /// Every `img` of the templates but those of the frame, such as a logo.
    private static func images() throws -> [(template: String, tag: String)] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".mustache") && $0 != "layout.mustache" }
        return try names.flatMap { name in
            try String(contentsOf: folder.appending(path: name), encoding: .utf8).components(separatedBy: "<img ")
                .dropFirst().map { (template: name, tag: String($0.prefix { $0 != "\n" })) }
        }
    }

    @Test func everyPictureHasWidthsAndABox() throws {
        let images = try Self.images()
        #expect(images.count >= 6)
        for (template, tag) in images {
            for part in ["{{#srcset}} srcset=", " sizes=", " width=\"", " height=\"", " alt="] {
                #expect(tag.contains(part), "\(template): \(part)")
            }
            // The main picture of a page has priority; browsers load every other one when it is near.
            #expect(tag.contains("loading=\"lazy\"") != tag.contains("fetchpriority=\"high\""), "\(template)")
        }
    }

    @Test func aProductPageNamesTheWidths() throws {
        let (full, small, other) = (
            FileNames.storedName("a b.jpg"), FileNames.storedName("s.jpg"), FileNames.storedName("o.png")
        )
        let product: JSON = [
            "objectId": "abc", "name": "Rose", "unitPrice": 3.5, "brand": .pointer("Category", "b"),
            "fullsizeImage": Self.file(full), "thumbnail": Self.file(small),
        ]
        let similar: JSON = [
            "results": [
                ["objectId": "d", "name": "Dew", "unitPrice": 1, "thumbnail": Self.file(other)],
                ["objectId": "e", "name": "Elm", "unitPrice": 1],
            ]
        ]
        let html = try Self.html(
            ["products", "rose-abc"],
            [(200, product), Self.none, Self.none, (200, similar), (200, ["objectId": "b", "title": "Bloom"])])
        let path = full.replacing(" ", with: "%20")
        let widths = [160, 320, 640, 960, 1280, 1920].map { "\(Self.files)/width/\($0)/\(path) \($0)w" }
        #expect(html.contains(" srcset=\"\(widths.joined(separator: ", "))\""), "\(html)")
        #expect(html.contains("fetchpriority=\"high\""))
        #expect(html.contains("<meta property=\"og:image\" content=\"\(Self.files)/width/1280/\(path)\">"))
        #expect(html.contains("data-picture=\"\(Self.files)/width/320/\(path)\""))
        #expect(html.contains("\(Self.files)/width/640/\(other) 640w"))
        // The product without a picture does not show the picture of the page.
        #expect(html.components(separatedBy: "srcset=").count == 3)
        #expect(html.components(separatedBy: "<img ").count == 3)
    }

    /// Files that the gateway serves in one size only.
    @Test(arguments: [
        FileNames.storedName("a.jpg", isPrivate: true), FileNames.storedName("a.pdf"), "a.jpg",
    ])
    func otherFilesHaveOneSize(_ name: String) throws {
        let product: JSON = [
            "objectId": "abc", "name": "Rose", "unitPrice": 3.5, "thumbnail": Self.file(name),
        ]
        let html = try Self.html(["products", "rose-abc"], [(200, product), Self.none, Self.none])
        #expect(html.contains("src=\"\(Self.files)/\(name)\""), "\(html)")
        #expect(!html.contains("srcset"))
        #expect(!html.contains("/width/"))
    }

    /// A moved product may have no thumbnail: its card shows the large picture.
    @Test func theFirstCardsLoadAtOnce() throws {
        let products = (0..<10).map { number -> JSON in
            [
                "objectId": .string("p\(number)"), "name": .string("A\(number)"), "unitPrice": 1,
                number == 9 ? "fullsizeImage" : "thumbnail": Self.file(FileNames.storedName("a.jpg")),
            ]
        }
        let brand: JSON = ["objectId": "b", "title": "Bloom"]
        let html = try Self.html(
            ["brands", "bloom-b"], [(200, brand), (200, ["results": .array(products), "count": 10]), Self.none])
        #expect(html.components(separatedBy: "<img ").count == 11, "\(html)")
        #expect(html.components(separatedBy: "loading=\"lazy\"").count == 7)
    }
}

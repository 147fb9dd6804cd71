// SPDX-License-Identifier: MIT

/// Keys that were made for these tests alone, and tokens that their private halves have signed.
enum SignedTokens {
  static let rsaKey = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1whzTMzD+atwCnpgn+KC
    ARXpcGI/aP7zA95+6qxYg1Iu8gYC/1nYIhrdkrMvefc8C3OEr/CqWaLJVdMmHvok
    DLcQ0+qeiNSc+5osDeR7p1ukKB4UGrBNHnrZSZsSsEok/cDoSpJTrnSG8P3uxVZQ
    Vzixhe+5jmjuGD8wiPzlpZ5aaS+qSUx12wfWOdge4BG1TfUh80nmjF9zrY1Ao7Xo
    D/CyRWZqpasNwcBwrYALKs5m3QtVn7VeYnJmEPJauAHuYnb0PaJizBME5C0uuQQX
    5McpDbhs6Squ/kTejHXapT6D/BVRGERYYhtqtlzu2+qcItJahIdYrbAXRgCC2xwL
    9wIDAQAB
    -----END PUBLIC KEY-----
    """
  static let ecKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzlGwE/BKmP9mEWY+C7yHzKpbjib2
    qPUpsEVXdV6Cscuu2zQn9noivm5jqkJMWAlEhk6y0ZE1MzZf3najKZIuZg==
    -----END PUBLIC KEY-----
    """
  static let edKey = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEASA+S4ho6snFxYZ6dC3sIGbj2Iu2KBrDmHWjcHOGY0SU=
    -----END PUBLIC KEY-----
    """
  static let ecCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBcjCCARmgAwIBAgIUZV2myMTUkWffyuFrqzZI1noRL58wCgYIKoZIzj0EAwIw
    DjEMMAoGA1UEAwwDaWRwMCAXDTI2MTEyMjE5MDM0M1oYDzIxMjYxMDI5MTkwMzQz
    WjAOMQwwCgYDVQQDDANpZHAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATOUbAT
    8EqY/2YRZj4LvIfMqluOJvao9SmwRVd1XoKxy67bNCf2eiK+bmOqQkxYCUSGTrLR
    kTUzNl/edqMpki5mo1MwUTAdBgNVHQ4EFgQUA5F4TEp29kKsJV17UUubcJvgc/ww
    HwYDVR0jBBgwFoAUA5F4TEp29kKsJV17UUubcJvgc/wwDwYDVR0TAQH/BAUwAwEB
    /zAKBggqhkjOPQQDAgNHADBEAiABVRvPMY1bCt7lGQ5QYSzx2rjmgytEaTl9s4FI
    NGdPmQIgSV92Xt36SZ/xwiU9a3lzul4Ue+Owmh6mM/o1HJlq3w0=
    -----END CERTIFICATE-----
    """
  static let smallRSAKey = """
    -----BEGIN PUBLIC KEY-----
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDAS+WDoxmPqa5mALM07Jymv+1c
    cSJzQPrc+CD+COOJcltmLv6a3SLM0PnCH//ww/N0gK3kkpZ1n33tfoXMlMxtI15d
    9Y1qSJkc/RlW/Ef88R5kJ8yDjA5ZpF5S+/EcH9ax4HCq8lC8Rw1bigjIHjsfcus+
    Jsh1UvQJuSrCW3zOPwIDAQAB
    -----END PUBLIC KEY-----
    """
  static let p384Key = """
    -----BEGIN PUBLIC KEY-----
    MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEO8tyo2QOdNMAuiOJl2HAk20JmmdbKFSg
    wCQC1kEgKh3JlaQMZSBGlPMegbdWi0pCWexFwuxEkJE4czES/qsSrP/YBb1F8GrR
    kxJoXy80O18uzruzbat2Zmd56ilbgZTg
    -----END PUBLIC KEY-----
    """
  static let rs256 = """
    eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiY\
    XVkIjpbInNpZ25hbCIsIm90aGVyIl0sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.PQRxcFhibrX13eBwLUwwrpDfMnR6ucwEFS\
    lO6_VRds2abVgfRg0rfT5fv3St02hE9B3QYpB4keXUiCJr7D1l3jRHw5Rhf1PzO2pRe64IaHfsraF24PhfsCb3fYg2fmQl3nG4tGrzSP0ph8\
    Vn0rOKKtS3EFxYPXYtxOKE32L9zLUuV06UHHKE6Zgcc0oH1oHu6d07hVN5MGPX94-WtMNuJrH98xzbs_sQtudCoRUSNpHSn-0zLFCrrLhcAh\
    kJsIfTtDb9CuWqJB2Zx8HrsO7by8Ut7R-9i_H8DcgekJtapZne5thiAyStqx1x5noz1qlybDvI6hXea6rbgLPutD3hJw
    """
  static let es256 = """
    eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uI\
    iwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.k95QUrhty1E59b5htRpSz_Ye6b4D1C\
    QhgZDQIyklK-OepE9p2n276AeWD51qLKgILqifCr1CRPs_ZJQabyEPBw
    """
  static let edDSA = """
    eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.QPiu7BjqXng3tYv_dE-g4tUrr5s9DRVVFajG40x-nfph-3N6-TO-6wbgkz7jYVHI\
    6NATDrICmqX6INoSwi1fDQ
    """
  static let es256DER = """
    eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.MEUCIDLTXawKQM1-XekyfX1JQHGsxE-CZrzYtYE8YgNPO6aXAiEAorhoQNaQP6MN\
    R0d3HvtA371sW-g84FghQK8hzMV45Tg
    """
  static let es384 = """
    eyJhbGciOiJFUzM4NCJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.AqCstTiilBCvUQDMP4LnfA7Eh-dCav1O9cNCymQQZqZQPrsvI1XS2W_CQdN1cCCW\
    rbI1Fu4Dnw0TQyDyepD1sHH82FVMcaQgAtX7XSnkRYZv2enfKS75OG_ycdNcaxg-
    """
  static let ps256 = """
    eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.VO4IBCIxCmCHWmsBlNf-q_90CL-QOWVtfASGg0FOYy-T3fVpm37GHWkiNIq-4vl0\
    WZ4IkpySbdNXWr0-OfJ7BNtLfvbSgNcIO1O_DZdU5p7_Bn-OLdNcrY7-5DglR6T-p9heavcgq1yeVYMMM50Eczb7BvGWAgf4VmZ5_zARfl-0\
    nkspobGSQtjnupDtHZOvzj4DK2Ssyb_EKKngrywvi8JyrsvvxHm-ik0r7VaVTmPhV2G07Kf2DI2_8AzgVosOiiisOcyADtEMHuXKSE5W-AzS\
    zN99_m4zHt59welfLcQhB2zyDRtfzE4QBUmkzSJkVLnoafpWNhSNYHkSM2WoeQ
    """
  static let rs512 = """
    eyJhbGciOiJSUzUxMiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.RFV8RsMmv_FJoE0lC77e96w8eFrBQnyO7xSDRhIpx7GVRVA4NZTXfm9_FfReSz5e\
    jiUPftd5osZ6Z6jDtM_DWVn2AwfQoczYXhLotMKXbQ0TBe2DeJJlG1FgI_FG3dr_hOa6a-acx6uLgnC7-XxhCOOnPsdZbvF6e3lG8qrlTpC2\
    Hnj1wi8QyqJH5CqnRnnL63UCPGnSylOYuqfnUHgv0wKprLqw89vUS5ICFgGK1pduWq7btPxbMUmoJXIDy8Gf-moEAazAkeEgvZo8bV6jFVgQ\
    39-G5l5S_LEI9oD2WYZC5xq79fMMg2RSfgq1x028VUONcIx_A_6S-yavsL_ntg
    """
  static let rs512AsRS256 = """
    eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.xpgX1AYLwPkbDTkKiDzMILv2QHwPnSSAlpW2va41xAbyrZFbL_HyLccRQXKkLzE7\
    vOP6y6nnyGjxnPEuFXKvtgK9iyno2WgteTnJ8P7LS4l5QbmK4avodjXuQp1w8zMdsCOOPXGLhqBt-GrsDwAXmX64hMztuco6Xi5H_du1jek5\
    O4gWglQhaKoGUqky8SxbrHt9c_I87xfXeoysT5DRlrOsraDQGBulkyr-EAqO9LmedRmJVm29oY1-s6ipkdHAoRdyTHUr-baqJAOeiREE1P3y\
    R2Jww0omAiP4eOsmOqSlQ-F0IbtkfXuOf25lv5TxZ7rKQNMvsskGpHEutoY4Ag
    """
  static let hmacWithPublicKey = """
    eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.mF1ZYfAwPU13mBbaZlz2zJqqhUuVl4gyPWkke23aJ9w
    """
  static let rsaAsES256 = """
    eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.P8AJR_gWdqOhsosooxmCfLH352N2kh2PhSZETiDzFxwTYmODqzrD0D3oBfBHyjJu\
    XBU2liXqgOlD3EjCqDYVwYK1pPep3XONEADPjdUBWzRWjdJdmI4i8xsG9KBtjUx5Pwazs_eL33-1th8gtQ8lFa6OpP8Cn_s3Kka0RlygY4mF\
    pCnn4cU8fuOIbWt0ncRucNeF14utSVha6Fg5V9v4fUi5I1cUhCnOjn5sWWMs8HwtZ8tQtyhatwkwSR3IzjivE_69mxPyGVMX9fR2tMDfWY1Z\
    Vp-Q85bA-dY-tbmJTUtO7hi3qTB-XwRSimsuZnv_lEfyWPP8TF4ouCRxabCtXg
    """
  static let p384AsES256 = """
    eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwic3ViIjoiYW5uIiwiYXVkIjpbInNpZ25hbCIsIm90aGVyIl0\
    sImV4cCI6NDEwMjQ0NDgwMCwicm9sZSI6ImNvb2sifQ.BHAcf9iDkD7RkFMCYPskbe0mHExfXXWkxDeJqcDHieKfgFQseL5OmO7ADWuhG6gt\
    XECzmhZqab2UlDbfLtM5FWVthiUaeyfdxIDoQ_jF48PkDCIGiMeNPe6KGiZlDMPm
    """
  static let keySet = #"""
    {"keys":[{"kty":"RSA","kid":"r","use":"sig","alg":"RS256","n":"1whzTMzD-atwCnpgn-KCARXpcGI_aP7zA95-6qxYg1I\#
    u8gYC_1nYIhrdkrMvefc8C3OEr_CqWaLJVdMmHvokDLcQ0-qeiNSc-5osDeR7p1ukKB4UGrBNHnrZSZsSsEok_cDoSpJTrnSG8P3uxVZQV\#
    zixhe-5jmjuGD8wiPzlpZ5aaS-qSUx12wfWOdge4BG1TfUh80nmjF9zrY1Ao7XoD_CyRWZqpasNwcBwrYALKs5m3QtVn7VeYnJmEPJauAH\#
    uYnb0PaJizBME5C0uuQQX5McpDbhs6Squ_kTejHXapT6D_BVRGERYYhtqtlzu2-qcItJahIdYrbAXRgCC2xwL9w","e":"AQAB"},{"kty\#
    ":"EC","crv":"P-256","kid":"e","x":"zlGwE_BKmP9mEWY-C7yHzKpbjib2qPUpsEVXdV6Cscs","y":"rts0J_Z6Ir5uY6pCTFgJ\#
    RIZOstGRNTM2X952oymSLmY"},{"kty":"OKP","crv":"Ed25519","kid":"o","x":"SA-S4ho6snFxYZ6dC3sIGbj2Iu2KBrDmHWjc\#
    HOGY0SU"},{"kty":"RSA","kid":"enc","use":"enc","n":"AQ","e":"AQAB"},{"kty":"EC","crv":"P-384","kid":"p"}]}
    """#
}
